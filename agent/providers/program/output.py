"""Answer in what a program prints: text, one JSON document, or one on each line."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from agent.errors import TransientProviderError
from agent.providers import service_json
from agent.providers.answer import AnswerBuilder
from agent.providers.base import Usage
from agent.providers.lines import LineSplitter
from agent.providers.program.place import ValuePlace, parse
from agent.providers.program.terminal import TerminalText, plain
from agent.providers.settings import ProgramOutput, ProgramSettings
from agent.providers.wire import ToldError

# An error in place of an answer is a line or two; what is longer is an answer
MAX_COMPLAINT_CHARS = 1000
# Bytes that are no text, before a stream counts as something else than text
_MOST_UNREADABLE = 16
# Of an answer that quotes a broken file, fewer are unreadable than this share
_READABLE_SHARE = 5
_UNREADABLE = "\ufffd"


class OutputReader(ABC):
    """Reader of one answer; pieces come in any size."""

    @abstractmethod
    def feed(self, piece: bytes, answer: AnswerBuilder) -> str:
        """Take a piece into `answer`; return the text to show now.

        Raises:
            WireError: it is of another form than declared.
            ToldError: the program reports an error.
            TransientProviderError: the answer is beyond all measure.
        """

    @abstractmethod
    def close(self, answer: AnswerBuilder) -> str:
        """Take the end of the output; return and raise as `feed` does."""

    @property
    def is_marked(self) -> bool:
        """Return true if the answer itself says that nothing of it is missing."""
        return False


class _WantedLines:
    """Lines of a text without those that are left out, as soon as they are whole."""

    def __init__(self, leave_out: Sequence[str]) -> None:
        self._left_out = [re.compile(pattern) for pattern in leave_out]
        self._begun = ""

    def feed(self, text: str) -> str:
        if not self._left_out:
            return text
        *lines, self._begun = (self._begun + text).split("\n")
        return "".join([f"{line}\n" for line in lines if self._is_wanted(line)])

    def close(self) -> str:
        line, self._begun = self._begun, ""
        return line if self._is_wanted(line) else ""

    def _is_wanted(self, line: str) -> bool:
        return not any(pattern.search(line) for pattern in self._left_out)


class TextOutput(OutputReader):
    """All that is printed is the answer, but for its mark and lines that are left out.

    Args:
        may_complain: a short answer may be an error, so nothing is shown before it is longer.
    """

    def __init__(self, declared: ProgramOutput, *, may_complain: bool) -> None:
        self._text = TerminalText()
        self._lines = _WantedLines(declared.leave_out)
        self._mark = declared.mark
        self._holds = may_complain
        self._held = ""
        self._is_begun = False
        self._chars = 0
        self._unreadable = 0

    def feed(self, piece: bytes, answer: AnswerBuilder) -> str:
        text = self._text.feed(piece)
        self._count(text)
        self._held += self._lines.feed(text)
        # A mark that is not whole yet may be the beginning of an answer
        if not self._is_begun and self._mark.startswith(self._held.lstrip()):
            return ""
        self._begin()
        if self._holds and len(self._held) <= MAX_COMPLAINT_CHARS:
            return ""
        self._holds = False
        # The last line ends are shown only if something follows them
        shown = self._held.rstrip()
        self._held = self._held[len(shown) :]
        return answer.add_text(shown)

    def close(self, answer: AnswerBuilder) -> str:
        text = self._text.close()
        self._count(text)
        self._held += self._lines.feed(text) + self._lines.close()
        self._begin()
        held, self._held = self._held, ""
        return answer.add_text(held.rstrip())

    def _begin(self) -> None:
        if not self._is_begun:
            self._held = self._held.lstrip().removeprefix(self._mark).lstrip()
            self._is_begun = bool(self._held)

    def _count(self, text: str) -> None:
        self._chars += len(text)
        self._unreadable += text.count(_UNREADABLE)
        is_much = self._unreadable > _MOST_UNREADABLE
        if is_much and self._unreadable * _READABLE_SHARE > self._chars:
            raise service_json.WireError("no text")


class _Places:
    """Places of a declaration."""

    def __init__(self, declared: ProgramOutput) -> None:
        self.answer, self.delta = parse(declared.answer), parse(declared.delta)
        self.end, self.error = parse(declared.end), parse(declared.error)
        self._counts = parse(declared.input_tokens), parse(declared.output_tokens)

    def refuse_error(self, document: object) -> None:
        """Raise ToldError if the document has an error."""
        if told := self.error.find(document):
            raise ToldError(told)

    def count(self, document: object, answer: AnswerBuilder) -> None:
        counts = [place.find(document) for place in self._counts]
        numbers = [max(count, 0) if isinstance(count, int) else 0 for count in counts]
        if any(numbers):
            answer.count(Usage(numbers[0], numbers[1]))


def _text_at(place: ValuePlace, document: object) -> str:
    """Return the text at a place; empty where there is none."""
    found = place.find(document)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise service_json.WireError(f"{type(found).__name__} where the answer should be")
    return plain(service_json.joined_halves(found))


class JsonOutput(OutputReader):
    """One document, whole at the end."""

    def __init__(self, declared: ProgramOutput) -> None:
        self._places = _Places(declared)
        self._pieces: list[bytes] = []
        self._is_whole = False

    @property
    def is_marked(self) -> bool:
        return self._is_whole

    def feed(self, piece: bytes, answer: AnswerBuilder) -> str:
        self._pieces.append(piece)
        return ""

    def close(self, answer: AnswerBuilder) -> str:
        document = service_json.parse(b"".join(self._pieces).decode(errors="replace"))
        self._places.refuse_error(document)
        self._places.count(document, answer)
        text = answer.add_text(_text_at(self._places.answer, document))
        self._is_whole = bool(text)
        return text


class JsonLinesOutput(OutputReader):
    """A document on each line; lines that are none are for people."""

    def __init__(self, declared: ProgramOutput) -> None:
        self._places = _Places(declared)
        self._lines = LineSplitter()
        self._whole = ""
        self._has_pieces = False
        self._is_ended = False

    @property
    def is_marked(self) -> bool:
        return self._is_ended

    def feed(self, piece: bytes, answer: AnswerBuilder) -> str:
        return "".join([self._take(line, answer) for line in self._lines.feed(piece)])

    def close(self, answer: AnswerBuilder) -> str:
        text = "".join([self._take(line, answer) for line in self._lines.close()])
        if self._is_ended:
            return text
        if self._places.end:
            raise TransientProviderError(f"the answer broke off{answer.place()}")
        return text + self._rest(answer)

    def _take(self, line: str, answer: AnswerBuilder) -> str:
        if self._is_ended or not line.startswith(("{", "[")):
            return ""
        document = service_json.parse(line)
        self._places.refuse_error(document)
        self._places.count(document, answer)
        piece = _text_at(self._places.delta, document)
        self._has_pieces = self._has_pieces or bool(piece)
        # An agent tells what it does before it answers: the last is the answer
        self._whole = _text_at(self._places.answer, document) or self._whole
        text = answer.add_text(piece)
        if self._places.end.find(document) is not None:
            self._is_ended = True
            text += self._rest(answer)
            answer.end()
            answer.close()
        return text

    def _rest(self, answer: AnswerBuilder) -> str:
        """Return the whole answer, if it was not shown in pieces."""
        return "" if self._has_pieces else answer.add_text(self._whole)


def reader_of(declared: ProgramSettings) -> OutputReader:
    """Return a reader for one answer."""
    if declared.output.form == "json":
        return JsonOutput(declared.output)
    if declared.output.form == "jsonl":
        return JsonLinesOutput(declared.output)
    patterns = (getattr(declared.failures, name) for name in declared.failures.__struct_fields__)
    return TextOutput(declared.output, may_complain=any(patterns))
