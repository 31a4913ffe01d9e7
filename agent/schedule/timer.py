"""A timer: its length, its person and its remaining time.

Values only. A timer counts elapsed time: by the monotonic clock while the machine runs, also over
restarts of the agent; over a power cut by the wall clock, if it can be trusted.
"""

import enum
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from agent.messages import Provenance

# Of one person; more are forgotten by whoever set them
MAX_TIMERS = 20
# A week: what is to happen later has a date
MAX_SECONDS = 7 * 24 * 3600
MAX_NAME_CHARS = 40
MAX_TEXT_CHARS = 500
# A look comes at least every half a minute: what ended earlier, ended while nobody looked
LATE_S = 60.0


class TimerState(enum.Enum):
    """State of a timer."""

    # Its time passes
    RUNNING = "running"
    # It waits until a person says so
    PAUSED = "paused"


class CountdownTimer(msgspec.Struct, frozen=True, kw_only=True):
    """One timer; at its end it begins a turn with `order`, or says `text`.

    Args:
        number: what it is called by; kept in the file, never given twice while it is there.
        seconds: how long it was set for.
        left_s: what was left of it at `as_of_wall_s` and `as_of_monotonic_s`.
        boot: the run of the machine that `as_of_monotonic_s` belongs to.
        is_dated: the wall clock could be trusted then.
        thread, sender, trust, is_group: as of a job.
    """

    number: int
    seconds: Annotated[float, Meta(gt=0, le=MAX_SECONDS)]
    channel: str
    target: str
    person: str
    name: Annotated[str, Meta(max_length=MAX_NAME_CHARS)] = ""
    order: Annotated[str, Meta(max_length=MAX_TEXT_CHARS)] = ""
    text: Annotated[str, Meta(max_length=MAX_TEXT_CHARS)] = ""
    language: Annotated[str, Meta(max_length=8)] = "en"
    thread: str | None = None
    sender: str = ""
    is_group: bool = False
    trust: int = int(Provenance.WEB)
    state: TimerState = TimerState.RUNNING
    left_s: float = 0.0
    as_of_wall_s: float = 0.0
    as_of_monotonic_s: float = 0.0
    boot: str = ""
    is_dated: bool = False

    def __post_init__(self) -> None:
        # Raises ValueError: a file that people edit may say anything
        Provenance(self.trust)


class Instant(msgspec.Struct, frozen=True):
    """Reading of the clocks; `is_trusted` is about the wall's.

    Args:
        boot: which run of the machine it is; empty where that cannot be told.
    """

    wall_s: float
    monotonic_s: float
    boot: str
    is_trusted: bool


class TimerWords(Protocol):
    """Sentences about timers, in the person's language."""

    def ended(self, timer: CountdownTimer) -> str: ...

    def missed(self, timer: CountdownTimer, ago_s: float) -> str: ...


def left_s(timer: CountdownTimer, now: Instant) -> float:
    """Return the remaining seconds; below zero after the end."""
    if timer.state is TimerState.PAUSED:
        return timer.left_s
    return timer.left_s - _elapsed_s(timer, now)


def as_of(timer: CountdownTimer, now: Instant, left: float) -> CountdownTimer:
    """Return the timer with so many seconds left from now."""
    return replace(
        timer,
        left_s=left,
        as_of_wall_s=now.wall_s,
        as_of_monotonic_s=now.monotonic_s,
        boot=now.boot,
        is_dated=now.is_trusted,
    )


def span(seconds: float) -> str:
    """Return a time in words that need no grammar, such as 1 h 5 min."""
    whole = round(seconds)
    minutes, rest_s = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "min"), (rest_s, "s"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


def _elapsed_s(timer: CountdownTimer, now: Instant) -> float:
    passed_s = now.monotonic_s - timer.as_of_monotonic_s
    if timer.boot and timer.boot == now.boot and passed_s >= 0:
        return passed_s
    # The machine was off meanwhile. It has run for as long as its monotonic clock says; how long it
    # was off, only the wall clock knows, once it is set
    by_wall_s = now.wall_s - timer.as_of_wall_s if timer.is_dated and now.is_trusted else 0.0
    return max(by_wall_s, now.monotonic_s, 0.0)
