"""Answers that begin in a thought, of which only the end is there.

The templates of some models (DeepSeek R1, QwQ, Qwen's thinking ones) write where it begins into the
question. Of a model that is known for it, nothing is shown before that end has come.
"""

import re
from typing import Protocol

from msgspec.structs import replace

from agent.providers.prompted.reader import AnswerReading
from agent.providers.prompted.specials import END_OF_THOUGHT

# Of names of models, until their first answer tells
_LIKELY = re.compile(r"(?<![a-z0-9])r1(?![a-z0-9])|qwq|think|reasoning|minimax-m2", re.IGNORECASE)
# Longer than any end of a thought
_MOST_END_CHARS = 40


def may_begin_in_thought(model: str) -> bool:
    """Return true for a name that models have whose templates do this."""
    return _LIKELY.search(model) is not None


class InnerReader(Protocol):
    """Reader of one answer, which says where a thought without a beginning has ended."""

    @property
    def thoughts(self) -> str: ...

    @property
    def thought_chars(self) -> int | None: ...

    def feed(self, piece: str) -> str: ...

    def close(self) -> AnswerReading: ...


class HeadlessReader:
    """Reads one answer without the thought that it may begin in.

    Args:
        begins: the answer begins in one; None where that is likely and not known.
    """

    def __init__(self, reader: InnerReader, *, begins: bool | None) -> None:
        self._reader = reader
        self._is_certain = begins is True
        self._held: list[str] | None = None if begins is False else []
        self._recent = ""
        self._chars = 0
        self._unended = ""
        # All that was returned before the last piece was a thought
        self.takes_back = False

    @property
    def thoughts(self) -> str:
        return f"{self._reader.thoughts}{self._unended}"

    @property
    def begins_in_thought(self) -> bool | None:
        """Return what the answer tells of its model; None where the thought was empty."""
        chars = self._reader.thought_chars
        if chars is None:
            return bool(self._unended)
        return True if chars else None

    def feed(self, piece: str) -> str:
        """Read a piece and return the text that can be shown now."""
        self.takes_back = False
        if self._held is not None:
            self._held.append(piece)
            self._recent = f"{self._recent[-_MOST_END_CHARS:]}{piece}"
            if END_OF_THOUGHT.search(self._recent) is None:
                return ""
            piece, self._held = "".join(self._held), None
        return self._answer_of(self._reader.feed(piece))

    def close(self, *, is_cut: bool) -> AnswerReading:
        """End the answer and return its reading.

        Args:
            is_cut: the model ran out of tokens.
        """
        self.takes_back = False
        held, self._held = "".join(self._held or ()), None
        if is_cut and self._is_certain and held:
            self._unended, held = held, ""
        begun = self._answer_of(self._reader.feed(held))
        reading = self._reader.close()
        text = self._answer_of(reading.text)
        if self.takes_back:
            begun = ""
        return replace(reading, text=begun + text, as_text=begun + reading.as_text)

    def _answer_of(self, text: str) -> str:
        begun, self._chars = self._chars, self._chars + len(text)
        end = self._reader.thought_chars
        if end is None or end < begun:
            return text
        self.takes_back |= begun > 0
        return text[end - begun :]
