"""Values of a day over real servers: what was written, seen and done."""

import asyncio
from dataclasses import dataclass, field

# Messages of one person that wait for their answers at once
AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a day: how much is written, and how often something goes wrong.

    Args:
        at_once: messages of one person that wait for their answers at once.
        kills: of the agent, within the first part of the day.
        troubles: cuts, slow lines and times busy together, over the whole day.
    """

    messages: int
    at_once: int = AT_ONCE
    kills: int = 0
    troubles: int = 0


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
