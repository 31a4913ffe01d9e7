"""Those whom nobody let in: each is told so once in a while, and nothing of theirs is kept.

A number counts them; who was told lately is forgotten with the process, and sooner where many come.
"""

from collections import OrderedDict

from agent.clock import Clock

# One polite sentence, not a conversation
TOLD_EVERY_S = 3600.0
# Whom it remembers to have told; many more strangers than that in an hour are an attack
MAX_REMEMBERED = 500
# Sentences in an hour to all of them together: nobody makes this device write to many
MAX_TOLD = 30


class Strangers:
    """Counts strangers and says who is told something."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_s: OrderedDict[str, float] = OrderedDict()
        self.count = 0

    def note(self, who: str) -> bool:
        """Whether this one is told that they are not known."""
        self.count += 1
        now_s = self._clock.monotonic_s()
        told_s = self._told_s.get(who)
        if told_s is not None and now_s - told_s < TOLD_EVERY_S:
            return False
        lately = sum(now_s - at_s < TOLD_EVERY_S for at_s in self._told_s.values())
        if lately >= MAX_TOLD:
            return False
        self._told_s[who] = now_s
        self._told_s.move_to_end(who)
        if len(self._told_s) > MAX_REMEMBERED:
            self._told_s.popitem(last=False)
        return True
