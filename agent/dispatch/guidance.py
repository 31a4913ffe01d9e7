"""What keeps a turn on its course: repairs of calls, loops that are broken, deeds that are due.

Loaded by the first turn. Fed by the turn; decides nothing about what a tool may do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.dispatch.announcing import NUDGE, announces
from agent.dispatch.loops import Course, LoopGuard, Step
from agent.dispatch.repair import Repairs, bad_arguments, unknown_tool
from agent.errors import BadArguments
from agent.messages import ChatMessage, ToolCall, ToolResult
from agent.passage import Passage, Provenance, echo, own
from agent.providers.base import ChatResponse, Stop


@dataclass(slots=True)
class Guidance:
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
        """Whether the model is to be asked once more, because it did not do what it says."""
        # What follows from this turn's words alone is no language model's: it means what it says
        is_model = not response.heeds_only_this_turn and response.stop is Stop.END
        if self._was_reminded or not is_model or not announces(response.text):
            return False
        self._was_reminded = True
        # Said in this turn: whatever it was made of counts there already
        said = echo(response.text)
        self.aside = (ChatMessage.assistant(said), ChatMessage.user(own(NUDGE)))
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

    def note(self, call: ToolCall, result: ToolResult, *, changes: bool) -> None:
        """What came of a call."""
        done = result.success and changes
        self._steps.append(Step(call.name, call.arguments_json, result.text, result.success, done))

    def end_round(self) -> tuple[str, str]:
        """A word to the model, and why the turn ends; mostly both are empty."""
        self._repairs.rounds += self._was_misunderstood
        advice = self._guard.after(self._steps)
        if advice.course is Course.STOP:
            return "", (
                f"I stopped, because I was going in circles: {advice.sentence}. "
                "Tell me how to go on, or ask in another way."
            )
        return (advice.sentence, "") if advice.course is Course.NUDGE else ("", "")

    def postscript(self) -> str:
        """What the person has to know beside the answer."""
        return self._repairs.sentence()

    def _misunderstood(self, call: ToolCall, problem: ToolResult) -> ToolResult:
        self._was_misunderstood = True
        return self._repairs.answer(call, problem)
