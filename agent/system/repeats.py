"""Trouble that is met again and again: logged once, and then how often it came.

A full disk or a lost sensor is one state; a line for each time hides everything else in the log,
and each line is written to the same card.
"""

import logging
import time
from collections.abc import Callable

from msgspec import Struct

# As often as a person who reads along wants to be reminded
REPEAT_EVERY_S = 600.0
# A state that is over for a moment, and then met again, is not over
OVER_AFTER_S = 60.0
# Of one part; the oldest goes
MOST_TEXTS = 20


class _Told(Struct):
    """Time at which a trouble was logged, and how often it came since."""

    at_s: float
    more: int = 0


class RepeatedTrouble:
    """Troubles of one part; used by one thread at a time.

    Args:
        log: of the part.
        now_s: a clock that only goes on.
    """

    def __init__(self, log: logging.Logger, now_s: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._now_s = now_s
        self._told: dict[str, _Told] = {}

    def met(self, text: str, level: int = logging.WARNING) -> None:
        """Log it where it is new, or was logged long ago; else count it."""
        now_s = self._now_s()
        told = self._told.get(text)
        if told is not None and now_s - told.at_s < REPEAT_EVERY_S:
            told.more += 1
            return
        self._forget(text)
        self._log.log(level, "%s", text)
        self._told[text] = _Told(now_s)
        if len(self._told) > MOST_TEXTS:
            self._forget(next(iter(self._told)))

    def over(self) -> None:
        """Log how often each came; cheap, for whatever goes well."""
        for text, told in list(self._told.items()):
            if self._now_s() - told.at_s >= OVER_AFTER_S:
                self._forget(text)

    def _forget(self, text: str) -> None:
        told = self._told.pop(text, None)
        if told is not None and told.more:
            minutes = max(1, round((self._now_s() - told.at_s) / 60))
            self._log.info("%d more times in %d min: %s", told.more, minutes, text)
