"""The `[web]` section: what of the web may be reached."""

from typing import Annotated

from msgspec import Meta

from agent.config import Section

Name = Annotated[str, Meta(pattern=r"^(\*\.)?([a-z0-9_-]+\.)+[a-z0-9-]+$", max_length=253)]
# A host or address at home, and its port
Spot = Annotated[str, Meta(pattern=r"^([a-z0-9._-]+|\[[0-9a-f:]+\]):[0-9]{1,5}$", max_length=253)]


class WebSettings(Section, frozen=True, kw_only=True):
    """The web."""

    # The only hosts that may be reached; empty: any public one. A question comes before either
    allow: tuple[Name, ...] = ()
    # Machines at home that may be reached as well, each with its port
    local: tuple[Spot, ...] = ()
