"""The sections of the channels: who may talk to the agent, and how."""

from typing import Annotated

from msgspec import Meta

from agent.config import Section


class TerminalSettings(Section, frozen=True, kw_only=True):
    """The `[terminal]` section: the chat in a terminal."""

    prompt: Annotated[str, Meta(max_length=40)] = "> "
    # Lines of what was typed that are kept between chats; 0 keeps none
    history_lines: Annotated[int, Meta(ge=0, le=100_000)] = 1000
