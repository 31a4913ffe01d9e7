"""Wake phrase: of what is heard in a room, only what begins with it is for the agent."""

import re
from collections.abc import Callable

# After the phrase alone; a person breathes and goes on
ATTENTIVE_S = 8.0
_CALLING = r"(?:(?:hey|hi|hello|ok|okay|hallo|hola|oye)\W+)?"
# What a command begins with: nobody says it, and a recogniser may write it
_NOT_SAID = re.compile(r"^[\W_]+")


class WakePhrase:
    """Recognition of the phrase.

    Args:
        phrase: in the recogniser's spelling; empty where everything is for the agent.
        now_s: a clock that never goes back.
    """

    def __init__(self, phrase: str, now_s: Callable[[], float]) -> None:
        words = r"\W+".join(map(re.escape, phrase.split()))
        self._begin = re.compile(rf"\W*{_CALLING}{words}(?!\w)", re.IGNORECASE) if words else None
        self._now_s = now_s
        self._attentive_until_s = 0.0

    def order_in(self, heard: str) -> str:
        """Return the words that are for the agent; empty for none."""
        if self._begin is None:
            return _plain(heard)
        called = self._begin.match(heard)
        if called is None:
            is_attentive = self._now_s() < self._attentive_until_s
            self._attentive_until_s = 0.0
            return _plain(heard) if is_attentive else ""
        order = _plain(heard[called.end() :])
        self._attentive_until_s = 0.0 if order else self._now_s() + ATTENTIVE_S
        return order


def _plain(heard: str) -> str:
    """Return what was said, never a command as somebody types it."""
    return _NOT_SAID.sub("", heard).strip()
