"""How often somebody tried a wrong code, and how long they have to wait for the next try.

Nothing of them is kept but a number, and only of those who tried last. All together wait too: many
accounts guess no faster than one.
"""

from collections import OrderedDict
from dataclasses import dataclass

from agent.clock import Clock

# Wrong ones that are free: people mistype
FREE_TRIES = 3
# After them this is waited, doubled with each further one
FIRST_WAIT_S = 30.0
LONGEST_WAIT_S = 3600.0
# Of all together; a household mistypes less, and a stranger must not keep the owner out for long
FREE_TRIES_OF_ALL = 20
LONGEST_WAIT_OF_ALL_S = 60.0
# Whoever has not tried for so long begins anew
FORGOTTEN_AFTER_S = 6 * 3600.0
# Whom it remembers; beyond this the limit of all holds
MAX_REMEMBERED = 500


@dataclass(slots=True)
class _Tries:
    wrong: int = 0
    last_s: float = 0.0
    until_s: float = 0.0


class Attempts:
    """Counts wrong codes.

    Args:
        longest_s: nobody waits longer for the next try.
        is_first_free: the limit of all is only for those who have tried a wrong one.
    """

    def __init__(
        self, clock: Clock, longest_s: float = LONGEST_WAIT_S, *, is_first_free: bool = False
    ) -> None:
        self._clock = clock
        self._longest_s = longest_s
        self._is_first_free = is_first_free
        self._of: OrderedDict[str, _Tries] = OrderedDict()
        self._all = _Tries()

    def wait_s(self, who: str) -> float:
        """How long until a code of theirs is looked at; 0 for now."""
        tries = self._of.get(who)
        if tries is None:
            until_s = 0.0 if self._is_first_free else self._all.until_s
        else:
            until_s = max(tries.until_s, self._all.until_s)
        return max(0.0, until_s - self._clock.monotonic_s())

    def note_wrong(self, who: str) -> None:
        tries = self._of.setdefault(who, _Tries())
        self._of.move_to_end(who)
        if len(self._of) > MAX_REMEMBERED:
            self._of.popitem(last=False)
        self._count(tries, FREE_TRIES, self._longest_s)
        self._count(self._all, FREE_TRIES_OF_ALL, LONGEST_WAIT_OF_ALL_S)

    def forget(self, who: str) -> None:
        """They had the right one."""
        self._of.pop(who, None)
        self._all.wrong = max(0, self._all.wrong - 1)

    def _count(self, tries: _Tries, free: int, longest_s: float) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - tries.last_s > FORGOTTEN_AFTER_S:
            tries.wrong = 0
        tries.wrong += 1
        tries.last_s = now_s
        over = tries.wrong - free
        if over >= 0:
            # The exponent is bounded: it is a number that others count up
            tries.until_s = now_s + min(FIRST_WAIT_S * 2 ** min(over, 10), longest_s)
