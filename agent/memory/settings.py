"""The `[memory]` section: what is remembered and how it is recalled."""

from typing import Annotated, Literal

from msgspec import Meta

from agent.config import Section


class MemorySettings(Section, frozen=True, kw_only=True):
    """How the agent remembers."""

    # "sqlite" keeps memories in brain.db; "none" keeps nothing
    backend: Literal["sqlite", "none"] = "sqlite"
    # Memories that a message may bring into the prompt
    recall_limit: Annotated[int, Meta(ge=1, le=20)] = 5
    # Memories that score lower stay out of the prompt. Measured on the conversations and
    # sentences of the benchmarks: 0.4 keeps 98-99 % of what was rightly found and a quarter of
    # what is found for English questions about something else
    min_score: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.4
