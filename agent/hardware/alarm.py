"""Watch at work: what an event of the board means for whoever is told."""

from msgspec import Struct, field

from agent.link.events import BoardEvent, EventCondition, Watch
from agent.link.settings import WatchSettings
from agent.passage import Passage, Provenance, outside

HOUR_S = 3600.0
# How far a value has to come back before the limit can be passed again: noise is no news
MARGIN_SHARE = 0.02
# Nothing has no share; a board makes at least a step of it
_LEAST_MARGIN = 0.001
# Contacts have settled by then, and a person has not blinked
LEAST_INTERVAL_MS = 50


class Alarm(Struct):
    """A watch at work.

    Args:
        is_beyond: on which side of its limit the value was last.
        is_raised: its condition holds now; None before an event has said so, and where it has none.
        told_s: when it was told within the last hour, in seconds since the epoch.
        trust: of the turn that wanted it.
        own: from the configuration; a chat cannot remove it.
    """

    name: str
    wanted: WatchSettings
    trust: Provenance
    own: bool = False
    is_beyond: bool = False
    told_s: list[float] = field(default_factory=list)
    untold: int = 0
    is_raised: bool | None = None

    @property
    def watch(self) -> Watch:
        """Return the events that the board is asked to report."""
        limit = self.limit
        if limit is None:
            return Watch(self.wanted.pin, least_interval_ms=LEAST_INTERVAL_MS)
        margin = max(_LEAST_MARGIN, abs(limit) * MARGIN_SHARE)
        low, high = (
            (limit - margin, limit) if self.wanted.below is None else (limit, limit + margin)
        )
        return Watch(self.wanted.pin, EventCondition.THRESHOLD, LEAST_INTERVAL_MS, low, high)

    @property
    def condition(self) -> list[object]:
        """Return what its state belongs to, as a file keeps it."""
        wanted = self.wanted
        return [wanted.pin, wanted.above, wanted.below, wanted.becomes]

    @property
    def has_condition(self) -> bool:
        """Return true if it holds or not; a watch for every change never holds."""
        return self.limit is not None or bool(self.wanted.becomes)

    @property
    def limit(self) -> float | None:
        return self.wanted.above if self.wanted.below is None else self.wanted.below

    def takes(self, event: BoardEvent, now_s: float) -> bool:
        """Return true if the event is to be reported now."""
        if not self._matters(event):
            return False
        self.told_s = [at_s for at_s in self.told_s if 0 <= now_s - at_s < HOUR_S]
        if len(self.told_s) >= self.wanted.at_most_per_hour:
            self.untold += 1
            return False
        self.told_s.append(now_s)
        return True

    def sentence(self, event: BoardEvent) -> str:
        """Return the report, with the number of events that were left out before it."""
        shown = _shown(event)
        said = self.wanted.say or f"{self.name}: {event.source} is {{value}}."
        untold, self.untold = self.untold, 0
        more = f" ({untold} times more since I last told you.)" if untold else ""
        return said.replace("{value}", shown) + more

    def instruction(self, event: BoardEvent) -> Passage:
        """Return the first message of a turn: never a command, trusted as whoever ordered it."""
        text = self.wanted.ask.replace("{value}", _shown(event)).lstrip("/ ")
        trust = min(self.trust, Provenance.SENSOR)
        return outside(text, trust, f"watch:{self.name}")

    def _matters(self, event: BoardEvent) -> bool:
        limit = self.limit
        if limit is None:
            if not self.wanted.becomes:
                return True
            self.is_raised = str(event.value) == self.wanted.becomes
            return self.is_raised
        if isinstance(event.value, str):
            return False
        was_beyond = self.is_beyond
        above = self.wanted.below is None
        self.is_raised = self.is_beyond = event.value >= limit if above else event.value <= limit
        return self.is_beyond and not was_beyond


def _shown(event: BoardEvent) -> str:
    value = event.value if isinstance(event.value, str) else f"{event.value:g}"
    return f"{value} {event.unit}".strip()
