"""Present activity of the agent: counts and marks that parts keep, with listeners.

Nothing here waits or fails, so that whoever is at work loses nothing by saying so.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator

Listener = Callable[[], None]


class Activity:
    """Counts of running turns and open questions, and the channels in trouble."""

    def __init__(self) -> None:
        self.turns = 0
        self.questions = 0
        # What was decided of tool calls since the start, by verdict
        self.verdicts: Counter[str] = Counter()
        # What is wrong with listening on a channel, in a sentence
        self.troubles: dict[str, str] = {}
        # What does not work on a channel that listens, such as a room that nobody let us into
        self.gaps: dict[str, str] = {}
        self._takes_nothing: set[str] = set()
        self._listeners: list[Listener] = []

    @property
    def deaf(self) -> set[str]:
        """Channels on which messages do not get through, one way or the other."""
        return {*self.troubles, *self._takes_nothing}

    def listen(self, listener: Listener) -> None:
        """Call it after every change, from now on."""
        self._listeners.append(listener)

    @contextlib.contextmanager
    def thinking(self) -> Iterator[None]:
        """A turn is at work."""
        self.turns += 1
        self.touch()
        try:
            yield
        finally:
            self.turns -= 1
            self.touch()

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """A person is waited for."""
        self.questions += 1
        self.touch()
        try:
            yield
        finally:
            self.questions -= 1
            self.touch()

    def note_channel(self, name: str, *, is_deaf: bool) -> None:
        """Record that answers do or do not get through on a channel."""
        if is_deaf != (name in self._takes_nothing):
            self._takes_nothing ^= {name}
            self.touch()

    def note_trouble(self, name: str, trouble: str) -> None:
        """Record why a channel receives nothing; an empty text clears it."""
        if trouble == self.troubles.get(name, ""):
            return
        if trouble:
            self.troubles[name] = trouble
        else:
            del self.troubles[name]
        self.touch()

    def note_gap(self, name: str, gap: str) -> None:
        """Record what does not work on a channel that receives; an empty text clears it."""
        if gap != self.gaps.get(name, ""):
            self.gaps = {**self.gaps, name: gap}
            self.touch()

    def trouble(self, name: str) -> str:
        """Return what a person should know of a channel; empty if all of it works."""
        return self.troubles.get(name, "") or self.gaps.get(name, "")

    def touch(self) -> None:
        """Something has changed that others keep count of."""
        for listener in self._listeners:
            listener()
