"""A scheduled job: its time, its order, its person and its last result.

Values only, kept as readable JSON; nothing here looks at a clock or does anything.
"""

import enum
from typing import Annotated

import msgspec
from msgspec import Meta

from agent.errors import BadArguments
from agent.messages import Provenance

MAX_JOBS = 50
# The job that does what HEARTBEAT.md says
HEARTBEAT = "heartbeat"
MAX_TEXT_CHARS = 2000
# A turn costs money and time; a model in a loop must not order more than this
MAX_RUNS_A_DAY = 96
# As often as a job may run at all
LEAST_INTERVAL_S = 60
# 9999-01-01: a little later there is no calendar any more that could show it
END_S = 253_370_764_800.0
# Separate stretches of time that a job has run in; more than any clock jumps in a day
MAX_STRETCHES = 16


class State(enum.Enum):
    """State of a job."""

    # When its time comes
    WAITING = "waiting"
    # Not until a person says so
    PAUSED = "paused"
    # Its one time has come, or passed
    DONE = "done"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job; one of `cron`, `at_s` and `every_s`, and either `prompt` or `message`.

    Args:
        person: whose memories and orders it goes by.
        thread: the topic where it was made, as its platform calls it.
        sender: what the platform calls whoever made it; empty where that is `person`.
        is_group: others read what comes of it.
        trust: the least trusted that whoever made it had read; a turn of it is never above that.
        seen_s: every time up to this one was looked at.
        stretches: first and last time of each run of times at which it ran, newest last.
        ran_s: when it last ran.
        run_id: what that run is called in the journal.
        day: the day that `runs` are counted on.
        language: of a reminder, which is said even when its time was missed.
    """

    name: Annotated[str, Meta(pattern=r"^[a-z][a-z0-9_-]{0,31}\Z")]
    channel: str
    target: str
    person: str
    thread: str | None = None
    sender: str = ""
    is_group: bool = False
    trust: int = int(Provenance.WEB)
    cron: str = ""
    at_s: float = 0.0
    every_s: float = 0.0
    prompt: Annotated[str, Meta(max_length=MAX_TEXT_CHARS)] = ""
    message: Annotated[str, Meta(max_length=MAX_TEXT_CHARS)] = ""
    state: State = State.WAITING
    created_s: float = 0.0
    seen_s: float = 0.0
    stretches: tuple[tuple[float, float], ...] = ()
    ran_s: float = 0.0
    run_id: str = ""
    day: str = ""
    runs: int = 0
    failures: int = 0
    result: str = ""
    run_now: bool = False
    language: str = ""

    def __post_init__(self) -> None:
        if sum(map(bool, (self.cron, self.at_s, self.every_s))) != 1:
            raise BadArguments("say when: one of cron, at and every_minutes")
        if not 0.0 <= self.at_s < END_S:
            raise BadArguments("say a time between 1970 and 9999")
        if bool(self.prompt) == bool(self.message):
            raise BadArguments("say what: either a prompt or a message")
        if self.every_s and self.every_s < LEAST_INTERVAL_S:
            raise BadArguments(f"every_minutes must be at least {LEAST_INTERVAL_S // 60}")
        if self.prompt.lstrip().startswith("/"):
            raise BadArguments("a prompt must be plain words, not a command")
        # Raises ValueError: a file that people edit may say anything
        Provenance(self.trust)

    @property
    def is_over(self) -> bool:
        """Return true if its one time has come, or was found to have passed."""
        return self.state is State.DONE or 0.0 < self.at_s < self.seen_s

    def ran_at(self, slot_s: float) -> bool:
        """Return true if it already ran at that time, by a clock that was set back since."""
        return self.ran_until(slot_s) is not None

    def ran_until(self, slot_s: float) -> float | None:
        """Return the last time of the stretch that holds this one; None if it did not run then."""
        ends = (last for first, last in self.stretches if first <= slot_s <= last)
        return max(ends, default=None)
