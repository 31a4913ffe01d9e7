"""Answer that is being written, for all requests that wait for it."""

import asyncio
import contextlib
from collections.abc import Iterator

_GAP = "\n\n"


class PendingAnswer:
    """Answer to one message; several requests may wait for it, as when one is sent again."""

    def __init__(self, recipient: str) -> None:
        self.recipient = recipient
        self.text = ""
        # What was to be told to the caller when they come again
        self.notes: list[str] = []
        self.is_ended = False
        self.waiters = 0
        self._changed = asyncio.Event()

    def grow(self, text: str) -> None:
        if not self.is_ended:
            self.text = text
            self._change()

    def note(self, text: str) -> bool:
        """Tell it before the answer; false if the answer was told already."""
        if self.is_ended:
            return False
        self.notes.append(text)
        self._change()
        return True

    def end(self, text: str) -> None:
        """Set the whole answer; the first one counts."""
        if not self.is_ended:
            self.text, self.is_ended = text, True
            self._change()

    async def change(self, within_s: float) -> bool:
        """Wait for a change; false if none came in time."""
        changed = self._changed
        try:
            async with asyncio.timeout(within_s):
                await changed.wait()
        except TimeoutError:
            return False
        return True

    @property
    def whole(self) -> str:
        """Return all that is told by now."""
        return _GAP.join(filter(None, (*self.notes, self.text)))

    def _change(self) -> None:
        # Whoever waits is woken once, and waits for the next one anew
        self._changed.set()
        self._changed = asyncio.Event()


class AnswerPieces:
    """Pieces of an answer, for a stream that takes nothing back."""

    def __init__(self) -> None:
        self._told: list[str] = []
        self._notes = 0
        self._shown = ""

    @property
    def whole(self) -> str:
        """Return all that was told."""
        return "".join(self._told)

    def next(self, pending: PendingAnswer) -> str:
        """Return what is new; empty while nothing certain is."""
        if self._shown:
            # What is said already goes on first
            piece = self._text_of(pending) + self._notes_of(pending)
        else:
            piece = self._notes_of(pending) + self._text_of(pending)
        if piece:
            self._told.append(piece)
        return piece

    def _notes_of(self, pending: PendingAnswer) -> str:
        if self._shown and not pending.is_ended:
            # Not in the middle of a sentence
            return ""
        new, self._notes = pending.notes[self._notes :], len(pending.notes)
        if self._shown:
            return "".join(f"{_GAP}{one}" for one in new)
        return "".join(f"{one}{_GAP}" for one in new)

    def _text_of(self, pending: PendingAnswer) -> str:
        text = pending.text
        if text.startswith(self._shown):
            new, self._shown = text[len(self._shown) :], text
            return new
        if not pending.is_ended:
            # What was announced before a tool is said anew: the end tells it
            return ""
        self._shown = text
        return f"{_GAP}{text}"


class PendingAnswers:
    """Answers that somebody waits for, by the id of the message."""

    def __init__(self) -> None:
        self._of: dict[str, PendingAnswer] = {}

    def __len__(self) -> int:
        return sum(one.waiters for one in self._of.values())

    def find(self, message_id: str) -> PendingAnswer | None:
        return self._of.get(message_id)

    def of_recipient(self, recipient: str) -> list[PendingAnswer]:
        return [one for one in self._of.values() if one.recipient == recipient]

    @contextlib.contextmanager
    def waiting(self, message_id: str, recipient: str) -> Iterator[PendingAnswer]:
        """Yield the answer to a message, while somebody waits for it."""
        pending = self._of.setdefault(message_id, PendingAnswer(recipient))
        pending.waiters += 1
        try:
            yield pending
        finally:
            pending.waiters -= 1
            if not pending.waiters:
                del self._of[message_id]
