"""End of an answer, from the place where a call may begin: calls and text.

A call counts where it stands apart: nothing but the end of a sentence is before it in its line,
nothing after it, and nothing follows the last one. So an example in prose is never run and never
lost. A call in the middle of the last line may be either: that is doubtful.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from agent.providers import template_names
from agent.providers.answer import MAX_CALLS, bare
from agent.providers.prompted import marks, tokens
from agent.providers.prompted.calls import (
    Offered,
    TakenCalls,
    WantedCall,
    take,
    take_block,
    typed_call,
)
from agent.providers.prompted.quotation import Quotation, fence_of
from agent.providers.prompted.specials import END_OF_THOUGHT, Special, special_at
from agent.providers.prompted.templates.every import opening_at, openings
from agent.providers.prompted.templates.foreign import FOREIGN
from agent.providers.prompted.templates.python_calls import PythonCalls
from agent.providers.prompted.tokens import Token, TokenType

# Before a call in its line: a sentence has ended
_SENTENCE_END = re.compile(r"(?:[.!?…。！？][)\"'”’」]*)\s*\Z")
# A turn that only a person or a tool can write
OTHERS_LINE = re.compile(r"^(?:Observation|Human|User):", re.MULTILINE)
# The same behind a call, where more is made up
_OTHERS_LINE = re.compile(r"^(?:Observation|Human|User|Tool|Result)s?:", re.MULTILINE)
# What a group of calls may begin with
_OBJECTS = re.compile(r"\s*+[\[{]")
_PYTHON_NAME = re.compile(r"\s*+([A-Za-z_][\w.-]{0,80})\(")
# Of a line's end, enough to see how it ends
_MOST_LINE_CHARS = 400
# Between two calls
_SEPARATORS = " \t\r\n,;"


class TailPiece(Struct):
    """Stretch of the answer: text, or calls with their marks."""

    start: int
    end: int
    taken: TakenCalls | None = None
    # Text that nobody is shown where calls run: a mark around them
    is_mark: bool = False
    template: str = ""

    @property
    def is_call(self) -> bool:
        return self.taken is not None and not self.taken.is_frame


class Tail(Struct, frozen=True):
    """End of an answer, read.

    Args:
        text: for people.
        problems: calls that cannot be read, in words for the model.
        is_cut: a call was begun whose end is not there, or is marked by nothing.
        is_doubtful: it may be a call or an example; `text` has it.
        calls_as_written: the calls with their marks, as the model wrote them.
        as_text: all of it, for people, if none of the calls is one.
        templates: the names of those that the calls are in.
        thought: what stood before an end of a thought that has no beginning here.
    """

    text: str
    wanted: tuple[WantedCall, ...] = ()
    problems: tuple[str, ...] = ()
    is_cut: bool = False
    is_doubtful: bool = False
    calls_as_written: tuple[str, ...] = ()
    as_text: str = ""
    templates: frozenset[str] = frozenset()
    thought: str | None = None


class TailReader(Struct):
    """Reader of one answer's end.

    Args:
        text: all of the end.
        quoting: follows the text before it.
        before: the line so far, before the end begins.
        is_others: the model spoke for somebody else before: nothing runs any more.
        templates: those that the model writes; calls in others are text. None: any.
    """

    text: str
    quoting: Quotation
    offered: Offered
    before: str = ""
    is_others: bool = False
    templates: frozenset[str] | None = None
    _pieces: list[TailPiece] = field(default_factory=list)
    _in_group: bool = False
    _has_calls: bool = False
    _thought: str | None = None

    def read(self) -> Tail:
        place = 0
        while place < len(self.text):
            after = self._step(place)
            if after is None:
                break
            place = after
        return replace(self._judged(), thought=self._thought)

    def _step(self, place: int) -> int | None:
        """Read what begins at `place`; None where the model's turn ends."""
        if not self._is_quoted:
            special = special_at(self.text, place)
            if special is not None:
                return self._after_special(place, special.special, special.end)
            if (after := self._after_opening(place)) is not None:
                return after
        return self._after_token(place)

    @property
    def _is_quoted(self) -> bool:
        # Within a group calls are indented as its author likes
        return self.quoting.is_quoted and not (self._in_group and not self.quoting.is_in_block)

    def _after_special(self, place: int, special: Special, end: int) -> int | None:
        if special is Special.TURN_END:
            return None
        if special is Special.THOUGHT:
            closing = END_OF_THOUGHT.search(self.text, end)
            end = closing.end() if closing else len(self.text)
        elif special is Special.THOUGHT_END:
            # It was a thought from the beginning: some services leave out where it began
            self._pieces.clear()
            self._thought = self.text[:place]
            self._has_calls = False
            self.before = ""
        self.quoting.mark()
        self._pieces.append(TailPiece(place, end, TakenCalls((), end, is_frame=True), is_mark=True))
        return end

    def _after_opening(self, place: int) -> int | None:
        is_line_start = self.quoting.is_line_start and not self._line_before(place)
        known = openings(self.templates, is_line_start=is_line_start)
        opening = opening_at(self.text, place, self.offered, known)
        if opening is None:
            return None
        taken = opening.template.take(self.text, opening.end)
        if opening.template.is_untyped:
            typed = tuple(typed_call(one, self.offered) for one in taken.wanted)
            taken = replace(taken, wanted=typed)
        return None if taken.is_nothing else self._keep(place, taken, opening.template.name)

    def _line_before(self, place: int) -> str:
        line = self.text.rfind("\n", 0, place)
        return self.text[line + 1 : place] if line >= 0 else self.before + self.text[:place]

    def _after_token(self, place: int) -> int | None:
        token = tokens.next_token(self.text, place, self.quoting, is_whole=True)
        assert token is not None
        if token.kind is TokenType.MARK and token.mark is not None and not self._is_quoted:
            return self._after_mark(place, token)
        if token.kind is TokenType.FENCE and not self.quoting.is_in_block:
            fence = fence_of(token.text)
            if fence is not None and fence.info in marks.CALL_BLOCKS:
                taken = take_block(self.text, token.end, self.offered)
                return self._keep(place, taken, template_names.HERMES)
            if fence is not None and fence.info in marks.CODE_BLOCKS:
                taken = PythonCalls(self.text, marks.END_OF_BLOCK).taken(token.end)
                return self._keep(place, taken, template_names.GEMMA)
        return self._pass(place, token)

    def _pass(self, place: int, token: Token) -> int:
        tokens.follow(self.quoting, token)
        if self._pieces and self._pieces[-1].taken is None and not self._pieces[-1].is_mark:
            self._pieces[-1].end = token.end
        else:
            self._pieces.append(TailPiece(place, token.end))
        return token.end

    def _after_mark(self, place: int, token: Token) -> int | None:
        mark = token.mark
        assert mark is not None
        kind = marks.kind_of(mark)
        if kind in marks.THOUGHTS:
            special = Special.THOUGHT_END if mark["end"] else Special.THOUGHT
            return self._after_special(place, special, token.end)
        if kind in marks.RESULTS:
            # Made up, and so is what follows from it
            self.is_others |= not self._has_calls
            return None if self._has_calls else self._pass(place, token)
        if kind in marks.CALLS | marks.NAMED and not mark["end"]:
            is_named = kind in marks.NAMED
            template = template_names.TAGS if is_named else template_names.HERMES
            return self._keep(place, take(self.text, mark, self.offered), template)
        if kind in marks.GROUPS and not mark["end"] and (taken := self._in_group_at(mark)):
            return self._keep(place, taken, template_names.HERMES)
        if kind in marks.GROUPS:
            self._in_group = not mark["end"]
        is_around = kind in marks.GROUPS or kind == marks.END_OF_MESSAGE or self._has_calls
        if not is_around:
            return self._pass(place, token)
        self.quoting.mark()
        self._pieces.append(TailPiece(place, token.end, is_mark=True))
        return token.end

    def _in_group_at(self, mark: re.Match[str]) -> TakenCalls | None:
        """Return the calls of a group without marks of their own; None if they have some."""
        if _OBJECTS.match(self.text, mark.end()):
            return take(self.text, mark, self.offered)
        name = _PYTHON_NAME.match(self.text, mark.end())
        if name is not None and bare(name[1]) in self.offered:
            return PythonCalls(self.text, marks.END_OF_CALL).taken(mark.end())
        return None

    def _keep(self, place: int, taken: TakenCalls, template: str) -> int:
        self.quoting.mark()
        if not taken.wanted and not taken.problem and not taken.is_cut:
            # A mark around calls that have marks of their own
            frame = taken if taken.is_frame else None
            self._pieces.append(TailPiece(place, taken.end, frame, is_mark=True))
        else:
            self._pieces.append(TailPiece(place, taken.end, taken, template=template))
            self._has_calls = True
        return taken.end

    def _judged(self) -> Tail:
        pieces = self._before_others()
        last = max((at for at, one in enumerate(pieces) if one.is_call), default=-1)
        if last < 0 or self.is_others:
            return Tail(self._text_of(pieces, runs=False))
        if any(self._is_text(one) for one in pieces[last + 1 :]):
            return Tail(self._text_of(pieces, runs=False))
        apart = self._begun(pieces) & self._ended(pieces)
        if last not in apart:
            return Tail(self._text_of(pieces, runs=False), is_doubtful=True)
        known = self.templates
        written = {pieces[at].template for at in apart} - {FOREIGN}
        if known is not None and not known.issuperset(written):
            return Tail(self._text_of(pieces, runs=False))
        return self._run(pieces, apart)

    def _run(self, pieces: Sequence[TailPiece], apart: frozenset[int]) -> Tail:
        takens = [one.taken for at, one in enumerate(pieces) if at in apart and one.taken]
        wanted = tuple(one for taken in takens for one in taken.wanted)
        problems = tuple(taken.problem for taken in takens if taken.problem)
        if len(wanted) > MAX_CALLS:
            problems = (*problems, f"there were more than {MAX_CALLS} calls")
            wanted = wanted[:MAX_CALLS]
        is_cut = any(taken.is_cut or taken.is_open for taken in takens)
        return Tail(
            self._text_of(pieces, runs=True, apart=apart),
            wanted,
            problems,
            is_cut,
            calls_as_written=tuple(self.text[pieces[at].start : pieces[at].end] for at in apart),
            as_text=self._text_of(pieces, runs=False),
            templates=frozenset(pieces[at].template for at in apart),
        )

    def _before_others(self) -> list[TailPiece]:
        """Return the pieces before somebody else's turn, which the model made up behind a call."""
        has_call = False
        for at, piece in enumerate(self._pieces):
            if piece.taken is None:
                line = _OTHERS_LINE if has_call else OTHERS_LINE
                found = line.search(self.text, piece.start, piece.end)
                if found is not None and has_call:
                    return [*self._pieces[:at], TailPiece(piece.start, found.start())]
                self.is_others |= found is not None
            has_call |= piece.is_call
        return self._pieces

    def _is_text(self, piece: TailPiece) -> bool:
        if piece.is_mark:
            return False
        if piece.taken is not None:
            return bool(piece.taken.shown.strip())
        return bool(self.text[piece.start : piece.end].strip(_SEPARATORS))

    def _begun(self, pieces: Sequence[TailPiece]) -> frozenset[int]:
        """Return the calls that have nothing but the end of a sentence before them there."""
        found, line = [], self.before
        for at, piece in enumerate(pieces):
            if piece.is_call:
                if not line.strip(_SEPARATORS) or _SENTENCE_END.search(line):
                    found.append(at)
            elif not piece.is_mark:
                text = self.text[max(piece.start, piece.end - _MOST_LINE_CHARS) : piece.end]
                line = text.rpartition("\n")[2] if "\n" in text else line + text
        return frozenset(found)

    def _ended(self, pieces: Sequence[TailPiece]) -> frozenset[int]:
        """Return the calls that have nothing but calls and marks behind them in their line."""
        found, is_followed = [], False
        for at in range(len(pieces) - 1, -1, -1):
            piece = pieces[at]
            if piece.is_call:
                if not is_followed:
                    found.append(at)
            elif not piece.is_mark:
                text = self.text[piece.start : piece.end]
                first_line, line_end, _ = text.partition("\n")
                is_followed = bool(first_line.strip(_SEPARATORS)) or (is_followed and not line_end)
        return frozenset(found)

    def _text_of(
        self, pieces: Sequence[TailPiece], *, runs: bool, apart: frozenset[int] = frozenset()
    ) -> str:
        parts = []
        for at, piece in enumerate(pieces):
            taken = piece.taken
            if taken is not None and (taken.is_frame or at in apart):
                parts.append(taken.shown)
            elif not (runs and piece.is_mark):
                parts.append(self.text[piece.start : piece.end])
        return "".join(parts)
