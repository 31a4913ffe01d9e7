"""Where every tool call passes: the policy decides, and where it says so, the owner.

A question is about one exact call, shown whole; what cannot be shown whole is refused. While the
emergency stop is set nothing that changes the world passes, whoever asks. A button on the device
may say yes as well; for effects that demand presence nothing else is a yes.
"""

import asyncio
from collections.abc import Awaitable, Callable

from agent.channels.base import Answer, Question
from agent.dispatch.activity import Activity
from agent.dispatch.presence import NoButton, Presence, PresenceRule
from agent.messages import Effect, Provenance, ToolCall
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Decision, Verdict, decide

# A person has to find the device and read; later than this the world has moved on
QUESTION_TIMEOUT_S = 120.0
# More than this is not read before it is answered
MAX_SHOWN_CHARS = 2000
_AT_THE_DEVICE = "press the button on the device to allow it"
_ONLY_AT_THE_DEVICE = f"a yes is not enough here: {_AT_THE_DEVICE}"

Ask = Callable[[Question], Awaitable[Answer]]


class Gate:
    """Decides whether a call may run."""

    def __init__(
        self,
        autonomy: Autonomy,
        approvals: StandingApprovals,
        stop: EmergencyStop,
        presence: PresenceRule | None = None,
        activity: Activity | None = None,
    ) -> None:
        self._autonomy = autonomy
        self._approvals = approvals
        self._stop = stop
        self._presence = presence or PresenceRule(NoButton())
        self._activity = activity or Activity()

    async def admit(
        self, call: ToolCall, effect: Effect, provenance: Provenance, ask: Ask
    ) -> Decision:
        """A decision that is final: allow or deny."""
        if effect is Effect.READ:
            return await self._weigh(call, effect, provenance, ask)
        if self._stop.is_set:
            return _denied("estop", self._stop.sentence)
        decision = await self._weigh(call, effect, provenance, ask)
        # It may have been set while the owner was reading the question
        return _denied("estop", self._stop.sentence) if self._stop.is_set else decision

    async def _weigh(
        self, call: ToolCall, effect: Effect, provenance: Provenance, ask: Ask
    ) -> Decision:
        decision = decide(effect, provenance, self._autonomy)
        demanded = effect in self._presence.demanded_for
        if decision.verdict is Verdict.DENY or (decision.verdict is Verdict.ALLOW and not demanded):
            return decision
        if len(call.arguments_json) > MAX_SHOWN_CHARS:
            return _denied("too-long", "it is too long to be shown whole, so it cannot be approved")
        if demanded:
            return await self._ask_at_the_device(call, f"it is {effect.value}", ask)
        if await asyncio.to_thread(self._approvals.covers, call.name, call.arguments_json):
            return Decision(Verdict.ALLOW, "standing-approval", "the owner said always to this")
        return await self._ask(call, decision.reason, ask)

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


def _denied(rule: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, rule, reason)
