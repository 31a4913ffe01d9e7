"""Delay before the next try to reach the board."""

import random

# A replugged board has to work again within 3 s, so the first tries are close together
FIRST_WAIT_S = 0.2
# A port where nothing useful answers is bothered no more often than this
LONGEST_WAIT_S = 5.0
# How often a missing or changed port is looked for: a stat of one path
POLL_S = 0.2
_JITTER = 0.25


class BackOff:
    """Waits that double from the first to the longest, each a little off, until reset."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self._chance = chance or random.Random()  # noqa: S311 - spreads tries, keeps no secret
        self._wait_s = FIRST_WAIT_S

    def next_s(self) -> float:
        wait_s = self._wait_s
        self._wait_s = min(LONGEST_WAIT_S, 2 * wait_s)
        return wait_s * self._chance.uniform(1 - _JITTER, 1)

    def reset(self) -> None:
        self._wait_s = FIRST_WAIT_S
