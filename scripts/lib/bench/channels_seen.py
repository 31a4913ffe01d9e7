"""Values of a day over real servers: what was written, seen and done."""

import asyncio
from dataclasses import dataclass, field


@dataclass(eq=False, slots=True)
class Message:
    """A message of one person, and what became of it."""

    platform: str
    text: str
    begun_s: float
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    took_s: float = 0.0
    # The agent was seen to go before it answered, where nothing is kept for it
    is_cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """The agent's memory in one of its lives."""

    life: int
    answered: int
    rss_kib: int


@dataclass(slots=True)
class Troubles:
    """Counts of what was done to the agent."""

    cuts: int = 0
    kills: int = 0
    slow_lines: int = 0
    refusals: int = 0


class BusyModel:
    """Counter of the requests that the model service has yet to refuse."""

    refusals_left = 0
