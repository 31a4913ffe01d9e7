"""The answer of a model that writes its tool calls as text: what is for people, what is a call.

What a person is shown never holds a thought or a call, however the answer is cut into pieces. From
the first call on, all is kept until the answer is whole. Text without any mark comes out as it
went in. A call runs when it is complete and not quoted (see `quoting`); made-up results of tools,
and all after them, are left out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.messages import ToolSpec
from agent.providers.answer import MAX_CALLS
from agent.providers.prompted import marks, tokens
from agent.providers.prompted.calls import Taken, Wanted, take, take_block, whole
from agent.providers.prompted.quoting import Quoting, fence_of
from agent.providers.prompted.tokens import Kind, Token


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of reading an answer.

    Args:
        text: what is still to be shown.
        problems: what was meant as a call and is none, in words for the model.
        is_cut: a call was begun whose end is not there, or is marked by nothing.
    """

    text: str
    wanted: tuple[Wanted, ...] = ()
    problems: tuple[str, ...] = ()
    is_cut: bool = False


class PromptedReader:
    """Reads one answer; its instance serves that one alone.

    Args:
        offered: the tools that the model was told of, by their names.
    """

    def __init__(self, offered: Mapping[str, ToolSpec]) -> None:
        self._offered = offered
        self._quoting = Quoting()
        # What cannot be told yet; from the first call on, everything
        self._kept: list[str] = []
        self._keeps_all = False
        self._is_whole = False
        # Spaces that are shown when something follows them
        self._blank: list[str] = []
        self._shown: list[str] = []
        self._has_begun = False
        self._in_thought = False
        self._in_group = False
        self._wanted: list[Wanted] = []
        self._problems: list[str] = []
        self._is_cut = False

    def feed(self, piece: str) -> str:
        """Read a piece and return the text that can be shown now."""
        self._kept.append(piece)
        if self._keeps_all:
            return ""
        text = "".join(self._kept)
        place = self._read(text)
        self._kept = [text[place:]]
        return self._to_show()

    def close(self) -> Reading:
        """The answer has ended."""
        self._is_whole = True
        text = "".join(self._kept)
        if not self._has_begun and not self._in_thought:
            self._wanted += whole(text, self._offered)
        self._has_begun = True
        if not self._wanted:
            self._read(text)
        if not self._has_calls:
            self._shown += self._blank
        return Reading(self._to_show(), tuple(self._wanted), tuple(self._problems), self._is_cut)

    @property
    def _has_calls(self) -> bool:
        return bool(self._wanted or self._problems)

    def _to_show(self) -> str:
        text, self._shown = "".join(self._shown), []
        return text

    def _show(self, text: str) -> None:
        rest = text.rstrip()
        if rest:
            self._has_begun = True
            self._shown += [*self._blank, rest]
            self._blank = []
        if len(rest) < len(text):
            self._blank.append(text[len(rest) :])

    def _read(self, text: str) -> int:
        """Read as far as can be told; where that is."""
        place = 0
        while place < len(text):
            if self._in_thought:
                after = self._after_thought(text, place)
            elif not self._has_begun:
                after = self._after_beginning(text, place)
            else:
                after = self._after_token(text, place)
            if after is None:
                return place
            place = after
        return place

    def _after_beginning(self, text: str, place: int) -> int | None:
        """As for a token, but all of the answer may be a call without marks."""
        blank = tokens.blank(text, place)
        if blank is not None:
            return self._pass(blank)
        beginning = tokens.beginning(text, place, self._offered)
        self._keeps_all = beginning is tokens.Beginning.CALL
        return self._after_token(text, place) if beginning is tokens.Beginning.TEXT else None

    def _after_thought(self, text: str, place: int) -> int | None:
        end = marks.END_OF_THOUGHT.search(text, place)
        if end is not None:
            self._in_thought = False
            self._quoting.mark()
            return end.end()
        if self._is_whole:
            return len(text)
        # A thought is not kept, but for what may be the beginning of its end
        begun = text.rfind("<", place)
        is_begun = begun >= 0 and marks.may_become_mark(text[begun:])
        after = begun if is_begun else len(text)
        return after if after > place else None

    def _after_token(self, text: str, place: int) -> int | None:
        token = tokens.next_token(text, place, self._quoting, is_whole=self._is_whole)
        if token is None:
            return None
        if token.kind is Kind.MARK and token.mark is not None and not self._is_quoted:
            return self._after_mark(text, token)
        if token.kind is Kind.FENCE and not self._quoting.is_in_block:
            fence = fence_of(token.text)
            if fence is not None and fence.info in marks.CALL_BLOCKS:
                return self._after_call(text, token)
        return self._pass(token)

    def _pass(self, token: Token) -> int:
        """A piece of text for people."""
        tokens.follow(self._quoting, token)
        self._show(token.text)
        return token.end

    @property
    def _is_quoted(self) -> bool:
        # Within a group calls are indented as its author likes
        return self._quoting.is_quoted and not (self._in_group and not self._quoting.is_in_block)

    def _after_mark(self, text: str, token: Token) -> int | None:
        mark = token.mark
        assert mark is not None
        kind = marks.kind_of(mark)
        if kind == marks.RESULT:
            return self._after_result(text, token)
        if kind in marks.CALLS | marks.NAMED:
            return self._around_call(text, token, mark)
        if kind in marks.THOUGHTS:
            self._in_thought = not mark["end"]
            if mark["end"]:
                # It was a thought from the beginning: some services leave out where it began
                self._wanted.clear()
                self._problems.clear()
        if kind in marks.GROUPS:
            self._in_group = not mark["end"]
        self._quoting.mark()
        return token.end

    def _around_call(self, text: str, token: Token, mark: re.Match[str]) -> int | None:
        if not mark["end"]:
            return self._after_call(text, token)
        if self._has_calls:
            # Around a call that had marks of its own
            self._quoting.mark()
            return token.end
        # What it ends was only quoted
        return self._pass(token)

    def _after_result(self, text: str, token: Token) -> int | None:
        if self._has_calls:
            # Made up, and so is what follows from it
            return len(text)
        return self._pass(token)

    def _after_call(self, text: str, token: Token) -> int | None:
        if not self._is_whole:
            self._keeps_all = True
            return None
        if token.mark is None:
            taken = take_block(text, token.end, self._offered)
        else:
            taken = take(text, token.mark, self._offered)
        self._quoting.mark()
        return self._keep(taken, len(text))

    def _keep(self, taken: Taken, end: int) -> int:
        self._wanted += taken.wanted
        if taken.problem:
            self._problems.append(taken.problem)
        self._is_cut |= taken.is_cut or taken.is_open
        if len(self._wanted) + len(self._problems) > MAX_CALLS:
            self._problems.append(f"there were more than {MAX_CALLS} calls")
            return end
        return taken.end
