"""Corrections within a turn: repair of calls, loop guard, reminders of announced actions.

Loaded by the first turn. Fed by the turn; decides nothing about what a tool may do.
"""

import re
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from agent.errors import BadArguments
from agent.messages import ChatMessage, ToolCall, ToolResult
from agent.passage import Fact, Passage, Provenance, echo, fields, own
from agent.providers.base import ChatResponse, StopReason
from agent.turn.loop_guard import Course, LoopGuard, Step

# Who has not got it right by then does not get it right
MAX_REPAIR_ROUNDS = 2
_LEFT_OUT = (
    "this call was wrong again and is left out; go on without it, and tell the person "
    "that it was not done"
)
# Of a name that a model has made up
_SHOWN_NAME_CHARS = 64


class Repairs(Struct):
    """The rounds of one turn in which calls were not understood."""

    rounds: int = 0
    left_out: list[str] = field(default_factory=list)

    def answer(self, call: ToolCall, problem: ToolResult) -> ToolResult:
        """The problem, for the model to repair; beyond the last round that the turn goes on."""
        if self.rounds < MAX_REPAIR_ROUNDS:
            return problem
        name = call.name[:_SHOWN_NAME_CHARS]
        if name not in self.left_out:
            self.left_out.append(name)
        return _error(own("left_out"), name, own(_LEFT_OUT))

    def sentence(self) -> str:
        """For the person, after the answer; empty where everything was understood."""
        if not self.left_out:
            return ""
        return f"\n(Not done, because the call was not understood: {', '.join(self.left_out)}.)"


def unknown_tool(call: ToolCall, nearest: Sequence[Passage]) -> ToolResult:
    """There is no such tool, what may have been meant, and how to find more."""
    name = call.name[:_SHOWN_NAME_CHARS]
    more = own("tool_search finds tools by what they do")
    message = own("there is no tool '{}'", echo(name))
    return _error(own("unknown_tool"), name, message, nearest=list(nearest), more=more)


def bad_arguments(call: ToolCall, err: BadArguments, reads: Provenance) -> ToolResult:
    """Return the misfit with its path; `reads` is the trust of the tool's own words."""
    message = own("bad arguments for {}: {}", echo(call.name), err.words(reads))
    return _error(own("bad_arguments"), call.name, message)


def _error(kind: Passage, tool: str, message: Passage, **more: Fact) -> ToolResult:
    told: dict[str, Fact] = {"error": kind, "tool": echo(tool), "message": message, **more}
    return ToolResult.failed(fields(told))


# The announcement stands at the end; what was said before it does not matter
_LAST_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？…]*\s*\Z")
# A longer sentence tells something
_LONGEST_CHARS = 240

_EN_DEEDS = (
    r"turn|switch|set|read|check|look|measure|search|start|stop|open|close|write|create|save|store"
    r"|run|fetch|get|find|list|activate|enable|disable|toggle|scan|use|call|do"
)
_ANNOUNCEMENTS = re.compile(
    rf"\b(?:I will|I'll|I’ll|I am going to|I'm going to|let me)"
    rf"(?: (?:now|just|first|quickly|go ahead and|try to|take a))* (?:{_EN_DEEDS})\b"
    r"|\bI am (?:now |just )?(?:turning|switching|setting|reading|checking|measuring)\b"
    r"|\bich (?:werde|schalte|prüfe|lese|messe|suche|schaue|setze|starte|stelle|öffne|schreibe"
    r"|speichere|mache)\b.*\b(?:jetzt|nun|gleich|kurz|mal|sofort|zuerst)\b"
    r"|\b(?:voy a|déjame|permíteme|ahora mismo) (?:\w+ )?(?:encend|apag|le[ea]r|comprob|revis"
    r"|busc|med|ver|configur|activ|abr|cerr|escrib|guard)"
    r"|(?:我(?:现在|马上|这就|来|先)|让我)[^。]{0,8}(?:打开|关闭|读|检查|查看|测量|查|搜索|设置|启动"
    r"|停止|写|保存|开|关)"
    r"|(?:今から|これから|今すぐ|まず).*(?:します|ます|ましょう)[。!！]?\s*\Z"
    r"|(?:확인|측정|검색|설정|시작|중지|켜|끄|꺼|읽|찾)\S{0,4}\s?\S{0,3}(?:겠습니다|게요)",
    re.IGNORECASE,
)
# A question, a condition, an offer, or something for later
_NO_ANNOUNCEMENT = re.compile(
    r"[?？]|\b(?:if|when|whenever|once|unless|until|later|tomorrow|let me know"
    r"|wenn|falls|sobald|später|morgen|si|cuando|mañana|después)\b"
    r"|如果|要是|的话|时候|以后|明天|吗|たら|なら|場合|明日|あとで|으면|경우|내일|나중",
    re.IGNORECASE,
)

NUDGE = (
    "(You said what you are about to do, but called no tool. If the person asked for it, call the "
    "tool now; otherwise give your final answer.)"
)

_CUT = "(Cut off here: one answer may not be longer. Ask me to go on if that is what you want.)"
_WITHHELD = "(The service of the language model withheld the answer, or the rest of it.)"
_NOTES_OF_STOPS = {StopReason.LENGTH: _CUT, StopReason.REFUSED: _WITHHELD}


def last_words(response: ChatResponse) -> str:
    """Return the text of a last answer; one that is not whole says so."""
    note = _NOTES_OF_STOPS.get(response.stop, "")
    words = "\n".join(filter(None, (response.text, note)))
    return words or "(the model gave an empty answer)"


def announces(text: str) -> bool:
    """Return true if the text ends by announcing an action."""
    found = _LAST_SENTENCE.search(text.rstrip()[-2 * _LONGEST_CHARS :])
    if found is None or len(found.group()) > _LONGEST_CHARS:
        return False
    last = found.group()
    return bool(_ANNOUNCEMENTS.search(last)) and not _NO_ANNOUNCEMENT.search(last)


class Guidance(Struct):
    """Follows one turn.

    Args:
        aside: follows the conversation in the next request only, and is kept nowhere.
    """

    aside: tuple[ChatMessage, ...] = ()
    _was_reminded: bool = False
    _guard: LoopGuard = field(default_factory=LoopGuard)
    _repairs: Repairs = field(default_factory=Repairs)
    _steps: list[Step] = field(default_factory=list)
    _was_misunderstood: bool = False

    def is_only_announced(self, response: ChatResponse) -> bool:
        """Return true if the model announced an action without doing it, and is asked once more."""
        # What follows from this turn's words alone is no language model's: it means what it says
        is_model = not response.heeds_only_this_turn and response.stop is StopReason.END
        if self._was_reminded or not is_model or not announces(response.text):
            return False
        self._was_reminded = True
        # Said in this turn: whatever it was made of counts there already
        said = echo(response.text)
        nudge = replace(ChatMessage.user(own(NUDGE)), is_aside=True)
        self.aside = (ChatMessage.assistant(said), nudge)
        return True

    def begin_round(self) -> None:
        """The model has asked for tools."""
        self.aside = ()
        self._steps = []
        self._was_misunderstood = False

    def unknown(self, call: ToolCall, nearest: Sequence[Passage]) -> ToolResult:
        return self._misunderstood(call, unknown_tool(call, nearest))

    def unfit(self, call: ToolCall, err: BadArguments, reads: Provenance) -> ToolResult:
        return self._misunderstood(call, bad_arguments(call, err, reads))

    def surplus(self, call: ToolCall, most: int) -> ChatMessage:
        """Return the answer to a call beyond those that run in one round."""
        message = own("not done: only the first {} calls of an answer are; call it again", most)
        told = _error(own("too_many_calls"), call.name[:_SHOWN_NAME_CHARS], message)
        return ChatMessage.tool(call, told.words, is_error=True)

    def note(self, call: ToolCall, result: ToolResult, *, changes: bool) -> None:
        """Record the result of a call."""
        done = result.success and changes
        self._steps.append(Step(call.name, call.arguments_json, result.text, result.success, done))

    def end_round(self) -> tuple[str, str]:
        """A word to the model, and why the turn ends; mostly both are empty."""
        self._repairs.rounds += self._was_misunderstood
        advice = self._guard.after(self._steps)
        if advice.course is Course.STOP:
            return "", (
                f"I stopped, because I repeated the same steps: {advice.sentence}. "
                "Tell me how to go on, or ask in another way."
            )
        return (advice.sentence, "") if advice.course is Course.NUDGE else ("", "")

    def postscript(self) -> str:
        """Return the notes that the person needs beside the answer."""
        return self._repairs.sentence()

    def _misunderstood(self, call: ToolCall, problem: ToolResult) -> ToolResult:
        self._was_misunderstood = True
        return self._repairs.answer(call, problem)
