"""The `[agent]` section: how the agent behaves in a turn."""

from typing import Annotated

from msgspec import Meta

from agent.config import Section
from agent.messages import Effect
from agent.security.policy import Autonomy


class AgentSettings(Section, frozen=True, kw_only=True):
    """What the agent is called, how far it may go, and how long a turn may take."""

    name: Annotated[str, Meta(min_length=1, max_length=60)] = "Barnacle"
    autonomy: Autonomy = Autonomy.SUPERVISED
    # Effects for which a typed yes is not enough: the button on the device has to be pressed
    presence_for: tuple[Effect, ...] = ()
    # Empty: the folder `workspace` in the state folder
    workspace: str = ""
    max_tool_iterations: Annotated[int, Meta(ge=1, le=50)] = 10
    turn_timeout_s: Annotated[int, Meta(ge=10, le=1200)] = 180
    # Messages of a conversation that a model sees again
    history_messages: Annotated[int, Meta(ge=2, le=400)] = 50
