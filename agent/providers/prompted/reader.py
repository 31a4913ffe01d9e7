"""Answer of a model that may write tool calls and thoughts as text, in any known template.

Text is shown as soon as it cannot be the beginning of a call, a thought or a special token. From
the first beginning of a call on, all is kept until the answer is whole: `tail` decides then. Text
without any of these comes out as it went in, however it is cut into pieces.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from agent.messages import ToolSpec
from agent.providers.prompted import marks, tokens
from agent.providers.prompted.calls import WantedCall
from agent.providers.prompted.quotation import Quotation, fence_of
from agent.providers.prompted.specials import (
    END_OF_THOUGHT,
    STARTS,
    Special,
    may_become_special,
    special_at,
)
from agent.providers.prompted.tail import OTHERS_LINE, Tail, TailReader
from agent.providers.prompted.templates.every import (
    TOKENS,
    may_become_opening,
    opening_at,
    openings,
)
from agent.providers.prompted.templates.harmony import take_bare
from agent.providers.prompted.templates.react import without_thought
from agent.providers.prompted.tokens import Token, TokenType
from agent.providers.prompted.whole import is_meant as is_meant_whole
from agent.providers.prompted.whole import whole
from agent.providers.template_names import HARMONY, JSON, PYTHON

# The last token of some models, which servers leave in; as HTML it has a beginning
_END_OF_TEXT = re.compile(r"(?<!<s>)</s>\s*\Z")
# How an answer begins whose channels a server left without their tokens
_BARE_CHANNEL = re.compile(r"\s*analysis[A-Z]")
# Of the line so far, enough to see how it ends
_MOST_LINE_CHARS = 400
# Longer than any end of a thought
_MOST_END_CHARS = 40


class AnswerReading(Struct, frozen=True):
    """Result of reading an answer.

    Args:
        text: what is still to be shown.
        problems: calls that cannot be read, in words for the model.
        is_cut: a call was begun whose end is not there, or is marked by nothing.
        is_doubtful: it may be a call or an example; `text` has it.
        calls_as_written: the calls with their marks, as the model wrote them.
        as_text: what is still to be shown if none of the calls is one.
        templates: the names of those that the calls are in.
    """

    text: str
    wanted: tuple[WantedCall, ...] = ()
    problems: tuple[str, ...] = ()
    is_cut: bool = False
    is_doubtful: bool = False
    calls_as_written: tuple[str, ...] = ()
    as_text: str = ""
    templates: frozenset[str] = frozenset()


class PromptedReader:
    """Reads one answer; an instance serves that one alone.

    Args:
        offered: the tools that the model was told of, by their names; without any, what looks
            like a call is text.
        templates: those that the model writes: what is in another is no call, and held back only
            where no prose looks like it. None: any.
    """

    def __init__(
        self, offered: Mapping[str, ToolSpec], templates: frozenset[str] | None = None
    ) -> None:
        self._offered = offered
        self._templates = templates
        self._is_narrow = templates is not None and templates.isdisjoint({JSON, PYTHON})
        self._reads_calls = bool(offered)
        self._quoting = Quotation()
        # What cannot be told yet; from the first beginning of a call on, everything
        self._kept: list[str] = []
        self._keeps_all = False
        # The model's turn is over: what still comes is made up
        self._is_over = False
        # Spaces that are shown when something follows them
        self._blank: list[str] = []
        self._shown: list[str] = []
        # The line that is being read, as far as it is shown
        self._line = ""
        self._has_begun = False
        # The model spoke for a tool or a person
        self._is_others = False
        self._in_thought = False
        self._has_thought = False
        self._thoughts: list[str] = []
        # All that was shown, for a thought without a beginning
        self._said: list[str] = []
        # So many characters of what was shown were one; None where there was none
        self.thought_chars: int | None = None

    @property
    def thoughts(self) -> str:
        """Return what stood between the marks of thoughts."""
        return "".join(self._thoughts)

    def feed(self, piece: str) -> str:
        """Read a piece and return the text that can be shown now."""
        if self._is_over:
            return ""
        self._kept.append(piece)
        if self._keeps_all:
            return ""
        text = "".join(self._kept)
        place = self._read(text)
        self._kept = [text[place:]]
        return self._to_show()

    def close(self) -> AnswerReading:
        """End the answer and return its reading."""
        is_silent = self._in_thought or self._is_over
        text = "" if is_silent else _END_OF_TEXT.sub("", "".join(self._kept))
        is_meant = False
        if not self._has_begun:
            text = without_thought(text)
            if (reading := self._all(text)) is not None:
                return reading
            is_meant = self._reads_calls and is_meant_whole(text, self._offered)
        blank = "".join(self._blank)
        tail = TailReader(
            text,
            self._quoting,
            self._offered,
            self._line,
            is_others=self._is_others,
            templates=self._templates,
        ).read()
        if not self._reads_calls and (tail.wanted or tail.problems):
            # A token that nobody says is no text either
            tail = Tail(tail.text if tail.templates <= TOKENS else tail.as_text)
        if tail.thought is not None and not self._has_thought:
            self._end_unbegun(tail.thought)
            blank = ""
        self._show_tail(tail)
        return AnswerReading(
            self._to_show(),
            tail.wanted,
            tail.problems,
            tail.is_cut,
            tail.is_doubtful or is_meant,
            tail.calls_as_written,
            blank + tail.as_text,
            tail.templates,
        )

    def _all(self, text: str) -> AnswerReading | None:
        """Return the reading of an answer that is one call, or one list of channels."""
        found = whole(text, self._offered) if self._reads_calls else None
        if found is not None and found.wanted and self._takes(found.template):
            as_text = "".join([*self._blank, text])
            return AnswerReading(
                "",
                found.wanted,
                calls_as_written=(text,),
                as_text=as_text,
                templates=frozenset({found.template}),
            )
        if not _BARE_CHANNEL.match(text):
            return None
        taken = take_bare(text)
        if not self._reads_calls or not self._takes(HARMONY):
            return AnswerReading(taken.shown)
        problems = (taken.problem,) if taken.problem else ()
        return AnswerReading(
            taken.shown,
            taken.wanted,
            problems,
            taken.is_cut,
            as_text=taken.shown,
            templates=frozenset({HARMONY}),
        )

    def _takes(self, template: str) -> bool:
        return self._templates is None or template in self._templates

    def _show_tail(self, tail: Tail) -> None:
        if tail.wanted or tail.problems:
            self._show(tail.text.rstrip())
        else:
            self._shown += [*self._blank, tail.text]

    def _to_show(self) -> str:
        text, self._shown = "".join(self._shown), []
        if not self._has_thought:
            self._said.append(text)
        return text

    def _show(self, text: str) -> None:
        rest = text.rstrip()
        if rest:
            self._has_begun = True
            self._shown += [*self._blank, rest]
            self._blank = []
        if len(rest) < len(text):
            self._blank.append(text[len(rest) :])
        line = text.rpartition("\n")[2] if "\n" in text else self._line + text
        self._line = line[-_MOST_LINE_CHARS:]
        self._is_others |= OTHERS_LINE.match(self._line) is not None

    def _read(self, text: str) -> int:
        """Read as far as is certain; return that place."""
        place = 0
        while place < len(text) and not self._keeps_all and not self._is_over:
            if self._in_thought:
                after = self._after_thought(text, place)
            elif not self._has_begun:
                after = self._after_beginning(text, place)
            else:
                after = self._after_any(text, place)
            if after is None:
                return place
            place = after
        return place

    def _after_beginning(self, text: str, place: int) -> int | None:
        """Read on, while all of the answer may be a call without marks."""
        blank = tokens.blank(text, place)
        if blank is not None:
            return self._pass(blank)
        beginning = tokens.beginning(text, place, self._offered, names_tool=self._is_narrow)
        self._keeps_all = beginning is tokens.Beginning.CALL and self._reads_calls
        return self._after_any(text, place) if beginning is tokens.Beginning.TEXT else None

    def _after_thought(self, text: str, place: int) -> int | None:
        end = END_OF_THOUGHT.search(text, place)
        if end is not None:
            self._thoughts.append(text[place : end.start()])
            self._in_thought = False
            self._quoting.mark()
            return end.end()
        # A thought is not kept, but for what may be the beginning of its end
        begun = max(text.rfind(one, max(place, len(text) - _MOST_END_CHARS)) for one in STARTS)
        after = begun if begun >= 0 else len(text)
        self._thoughts.append(text[place:after])
        return after if after > place else None

    def _after_any(self, text: str, place: int) -> int | None:
        if not self._quoting.is_quoted:
            is_line_start = self._quoting.is_line_start and not self._line
            special = special_at(text, place)
            if special is not None:
                return self._after_special(special.special, special.end)
            known = openings(self._templates, is_line_start=is_line_start)
            if opening_at(text, place, self._offered, known):
                self._keeps_all = True
                return None
            if may_become_special(text, place) or may_become_opening(
                text, place, self._offered, known
            ):
                return None
        return self._after_token(text, place)

    def _after_special(self, special: Special, end: int) -> int:
        if special is Special.TURN_END:
            self._is_over = True
        if special is Special.THOUGHT_END and not self._has_thought:
            self._end_unbegun("".join(self._blank))
        self._has_thought |= special in {Special.THOUGHT, Special.THOUGHT_END}
        self._in_thought = special is Special.THOUGHT
        self._quoting.mark()
        return end

    def _end_unbegun(self, rest: str) -> None:
        """Take all that was shown for a thought: the server's template wrote its beginning."""
        said = "".join([*self._said, *self._shown])
        self.thought_chars = len(said)
        self._thoughts.append(f"{said}{rest}".rstrip())
        self._said.clear()
        self._blank.clear()
        self._line = ""
        self._has_begun = False
        self._is_others = False

    def _after_token(self, text: str, place: int) -> int | None:
        token = tokens.next_token(text, place, self._quoting, is_whole=False)
        if token is None:
            return None
        if token.kind is TokenType.MARK and token.mark is not None and not self._quoting.is_quoted:
            return self._after_mark(token)
        if token.kind is TokenType.FENCE and not self._quoting.is_in_block:
            fence = fence_of(token.text)
            if fence is not None and fence.info in marks.CALL_BLOCKS | marks.CODE_BLOCKS:
                self._keeps_all = True
                return None
        return self._pass(token)

    def _after_mark(self, token: Token) -> int | None:
        assert token.mark is not None
        kind = marks.kind_of(token.mark)
        is_end = bool(token.mark["end"])
        if kind in marks.THOUGHTS:
            return self._after_special(
                Special.THOUGHT_END if is_end else Special.THOUGHT, token.end
            )
        if kind == marks.END_OF_MESSAGE:
            self._quoting.mark()
            return token.end
        if not is_end and kind in marks.CALLS | marks.NAMED | marks.GROUPS:
            self._keeps_all = True
            return None
        self._is_others |= kind in marks.RESULTS
        return self._pass(token)

    def _pass(self, token: Token) -> int:
        """Show a piece of text."""
        tokens.follow(self._quoting, token)
        self._show(token.text)
        return token.end
