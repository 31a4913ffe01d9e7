"""One thing that hurts, from when it is believed until it has been well for a while.

Told once each time, however often it comes and goes in between.
"""

from agent.health.senses.base import USUAL_EVERY_S, Sense
from agent.machine.readings import Readings

# What comes back sooner is the same trouble
QUIET_S = 600.0


class Episode:
    """Episode of one sense's trouble.

    Args:
        said: of an episode that an earlier run has told of already.
    """

    def __init__(self, sense: Sense, said: str = "") -> None:
        self.name = sense.name
        # How it began, which is what is said while it lasts: a number that moves would be written
        # to the card with each look. Nothing while all is well
        self.said = said
        # When it is to be looked at next
        self.due_s = 0.0
        self._sense = sense
        self._bad_looks = 0
        self._well_since_s: float | None = None

    def look(self, readings: Readings, now_s: float) -> bool:
        """Return true if an episode begins or ends; `said` tells which."""
        found = self._sense.judge(readings, is_on=bool(self.said))
        self.due_s = now_s + (USUAL_EVERY_S if found is None else self._sense.every_s)
        if found is None:
            return False
        return self._hurts(found) if found else self._is_well(now_s)

    def _hurts(self, sentence: str) -> bool:
        self._well_since_s = None
        self._bad_looks += 1
        if self.said or self._bad_looks < self._sense.looks:
            return False
        self.said = sentence
        return True

    def _is_well(self, now_s: float) -> bool:
        self._bad_looks = 0
        if not self.said:
            return False
        if self._well_since_s is None:
            self._well_since_s = now_s
        if now_s - self._well_since_s < QUIET_S:
            return False
        self.said = ""
        self._well_since_s = None
        return True
