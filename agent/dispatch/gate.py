"""Where every tool call passes: the policy decides, and where it says so, the owner.

A question is about one exact call, shown whole; what cannot be shown whole is refused. While the
emergency stop is set nothing that changes the world passes, whoever asks. A button on the device
may say yes as well; for effects that demand presence nothing else is a yes. Every decision goes on
record, and what cannot go on record does not happen.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent.channels.base import Answer, Question
from agent.dispatch.activity import Activity
from agent.dispatch.presence import NoButton, Presence, PresenceRule
from agent.dispatch.records import Case, Circumstances, NotRecorded
from agent.errors import StorageFull
from agent.memory.base import FROM_CHAT
from agent.messages import Effect, Provenance, ToolCall, ToolResult
from agent.printable import printable_line, spelled_out
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import LIMIT, Counters, Decision, Policy, Verdict, decide

# A person has to find the device and read; later than this the world has moved on
QUESTION_TIMEOUT_S = 120.0
# More than this is not read before it is answered
MAX_SHOWN_CHARS = 2000
# Of the address or file that a call comes from
MAX_SOURCE_CHARS = 200
_AT_THE_DEVICE = "press the button on the device to allow it"
_ONLY_AT_THE_DEVICE = f"a yes is not enough here: {_AT_THE_DEVICE}"

Ask = Callable[[Question], Awaitable[Answer]]


class Gate:
    """Decides whether a call may run."""

    def __init__(
        self,
        policy: Policy,
        approvals: StandingApprovals,
        stop: EmergencyStop,
        presence: PresenceRule | None = None,
        activity: Activity | None = None,
        records: NotRecorded | None = None,
    ) -> None:
        self._policy = policy
        self._approvals = approvals
        self._stop = stop
        self._presence = presence or PresenceRule(NoButton())
        self._activity = activity or Activity()
        self._records = records or NotRecorded()
        # Between counting and noting nobody else may count
        self._counting = asyncio.Lock()

    async def admit(
        self,
        call: ToolCall,
        effect: Effect,
        provenance: Provenance,
        ask: Ask,
        circumstances: Circumstances | None = None,
    ) -> Decision:
        """A decision that is final: allow or deny."""
        case = Case(call, effect, provenance, circumstances or Circumstances())
        if self._is_stopped(case):
            return await self._recorded(case, self._stopped())
        async with self._counting:
            decision = await self._decided(case)
            if not self._is_question(decision, effect):
                return await self._recorded(case, decision)
        await self._recorded(case, replace(decision, verdict=Verdict.ASK))
        decision = await self._asked(case, decision, ask)
        # It may have been set while the owner was reading the question
        return await self._recorded(case, self._stopped() if self._is_stopped(case) else decision)

    async def came_of(
        self,
        call: ToolCall,
        effect: Effect,
        provenance: Provenance,
        circumstances: Circumstances,
        result: ToolResult,
    ) -> None:
        """Put on record what came of an effect that was admitted."""
        if effect is not Effect.READ:
            await self._records.came_of(Case(call, effect, provenance, circumstances), result)

    def _is_stopped(self, case: Case) -> bool:
        return self._stop.is_set and case.effect is not Effect.READ

    def _stopped(self) -> Decision:
        return _denied("estop", self._stop.sentence)

    def _is_question(self, decision: Decision, effect: Effect) -> bool:
        if decision.verdict is Verdict.ALLOW:
            return effect in self._presence.demanded_for
        return decision.verdict is Verdict.ASK

    async def _decided(self, case: Case) -> Decision:
        counters: Counters = {}
        if case.effect is not Effect.READ:
            try:
                counters = await self._records.counters(case.circumstances.turn)
            except StorageFull as err:
                return _unrecorded(err)
        return decide(case.as_call, case.provenance, self._policy, counters)

    async def _recorded(self, case: Case, decision: Decision) -> Decision:
        try:
            await self._records.decided(case, decision, self._policy)
        except StorageFull as err:
            return _unrecorded(err)
        return decision

    async def _asked(self, case: Case, decision: Decision, ask: Ask) -> Decision:
        call = case.call
        if len(spelled_out(call.arguments_json)) > MAX_SHOWN_CHARS:
            return _denied("too-long", "it is too long to be shown whole, so it cannot be approved")
        if case.effect in self._presence.demanded_for:
            return await self._ask_at_the_device(
                call, f"it is {case.effect.value}{_origin(case)}", ask
            )
        # An "always" is for what the call does, not for how often
        if not decision.rule.startswith(LIMIT) and await asyncio.to_thread(
            self._approvals.covers, call.name, call.arguments_json
        ):
            return Decision(Verdict.ALLOW, "standing-approval", "the owner said always to this")
        return await self._ask(call, f"{decision.reason}{_origin(case)}", ask)

    async def _ask_at_the_device(self, call: ToolCall, reason: str, ask: Ask) -> Decision:
        button = self._presence.button
        if button.trouble:
            return _denied("no-presence", f"it needs somebody at the device, but {button.trouble}")
        question = Question(call.name, call.arguments_json, f"{reason}, and {_ONLY_AT_THE_DEVICE}")
        try:
            with self._activity.asking():
                async with asyncio.timeout(QUESTION_TIMEOUT_S):
                    answer = await first_answer(ask, question, button, only_button=True)
        except TimeoutError:
            return _denied(
                "no-presence", f"nobody pressed the button in {QUESTION_TIMEOUT_S:.0f} s"
            )
        if answer is Answer.YES:
            return Decision(Verdict.ALLOW, "presence", "the owner allowed it at the device")
        return _denied("owner-no", "the owner said no")

    async def _ask(self, call: ToolCall, reason: str, ask: Ask) -> Decision:
        button = self._presence.button
        told = reason if button.trouble else f"{reason}; you may also {_AT_THE_DEVICE}"
        try:
            question = Question(call.name, call.arguments_json, told)
            with self._activity.asking():
                async with asyncio.timeout(QUESTION_TIMEOUT_S):
                    answer = await first_answer(ask, question, button)
        except TimeoutError:
            return _denied("no-answer", f"nobody answered within {QUESTION_TIMEOUT_S:.0f} s")
        if answer is Answer.ALWAYS:
            await asyncio.to_thread(self._approvals.add, call.name, call.arguments_json)
        if answer in (Answer.YES, Answer.ALWAYS):
            return Decision(Verdict.ALLOW, f"owner-{answer.value}", "the owner allowed it")
        if answer is Answer.NO:
            return _denied("owner-no", "the owner said no")
        return _denied(
            "not-asked",
            f"it needs the owner's yes ({reason}), and nobody can be asked here; /new begins a "
            "conversation without what was read in this one",
        )


async def first_answer(
    ask: Ask, question: Question, button: Presence, *, only_button: bool = False
) -> Answer:
    """What the person says or presses, whichever counts first; a no always counts."""
    if button.trouble and not only_button:
        return await ask(question)
    asking = asyncio.ensure_future(ask(question))
    pressing = asyncio.ensure_future(button.pressed())
    try:
        await asyncio.wait({asking, pressing}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            answer = asking.result()
            says_yes = answer in (Answer.YES, Answer.ALWAYS)
            if answer is Answer.NO or (says_yes and not only_button):
                return answer
        # Said yes where that is not enough, or nobody can be asked: what is left is the button
        await pressing
        return Answer.YES
    finally:
        for task in (asking, pressing):
            task.cancel()
        await asyncio.wait({asking, pressing})


def _origin(case: Case) -> str:
    """Which page or file it was, where that is not the conversation itself."""
    source = printable_line(case.circumstances.source, MAX_SOURCE_CHARS)
    is_told = case.provenance < Provenance.OWNER and source and source != FROM_CHAT
    return f" (from {source})" if is_told else ""


def _unrecorded(err: StorageFull) -> Decision:
    return _denied("unrecorded", f"it could not be recorded: {err}")


def _denied(rule: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, rule, reason)
