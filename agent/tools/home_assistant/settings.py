"""Settings of Home Assistant: where it is, and what the agent may do with each entity."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from agent.config import ConfigSection, Secret
from agent.tools.settings import Base

EntityPattern = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9_*?]{1,60}\.[a-z0-9_*?]{1,120}\Z",
        description="an entity such as light.desk, or several such as sensor.*",
    ),
]
# The last one is for what is a hazard by itself, where the owner says it is none
Danger = Literal["read", "actuate", "hazard", "actuate_even_so"]
_WILD = frozenset("*?")


class HomeAssistantSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[home_assistant]` section; without it no tool knows of one."""

    # Where it answers, such as http://192.168.1.10:8123
    base_url: Base = ""
    # A long-lived access token of its own user; or a file that holds nothing else, which is better
    token: Secret = Secret()
    token_file: str = ""
    # What may be seen and called; nothing else is there for the agent
    entities: dict[EntityPattern, Danger] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.base_url:
            raise ValueError(
                "base_url is missing: give an address such as http://192.168.1.10:8123"
            )
        if not self.entities:
            raise ValueError('entities is missing: list what is allowed, such as "light.*"')
        for pattern, danger in self.entities.items():
            if danger != "read" and _WILD & set(pattern.partition(".")[0]):
                raise ValueError(f"entities allows acts on every kind by {pattern}: name the kind")
