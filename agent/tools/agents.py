"""The `[agents.<name>]` tables: other agents that this one may ask, each with tools of its own."""

from typing import Annotated

from msgspec import Meta

from agent.config import Section

_Tool = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_]*\*?$", max_length=100)]


class DelegateSettings(Section, frozen=True, kw_only=True):
    """One agent that can be asked."""

    # What the asking model is told of it, in a few words
    about: Annotated[str, Meta(max_length=100)] = ""
    # What it is told of itself
    prompt: Annotated[str, Meta(max_length=8000)] = ""
    # A model of the usual service, or "hint:" and a route; empty: the usual one
    model: Annotated[str, Meta(max_length=400)] = ""
    # Of the asker's tools those that it may use, `*` at the end for any rest; none if empty
    tools: Annotated[tuple[_Tool, ...], Meta(max_length=64)] = ()
    max_iterations: Annotated[int, Meta(ge=1, le=20)] = 5
