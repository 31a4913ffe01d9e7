"""Where every tool call passes: the policy decides, and where it says so, the owner.

A question is about one exact call, shown whole; what cannot be shown whole is refused. While the
emergency stop is set nothing that changes the world passes, whoever asks.
"""

import asyncio
from collections.abc import Awaitable, Callable

from agent.channels.base import Answer, Question
from agent.messages import Effect, Provenance, ToolCall
from agent.security.approvals import StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Decision, Verdict, decide

# A person has to find the device and read; later than this the world has moved on
QUESTION_TIMEOUT_S = 120.0
# More than this is not read before it is answered
MAX_SHOWN_CHARS = 2000

Ask = Callable[[Question], Awaitable[Answer]]


class Gate:
    """Decides whether a call may run."""

    def __init__(
        self, autonomy: Autonomy, approvals: StandingApprovals, stop: EmergencyStop
    ) -> None:
        self._autonomy = autonomy
        self._approvals = approvals
        self._stop = stop

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
        if decision.verdict is not Verdict.ASK:
            return decision
        if len(call.arguments_json) > MAX_SHOWN_CHARS:
            return _denied("too-long", "it is too long to be shown whole, so it cannot be approved")
        if await asyncio.to_thread(self._approvals.covers, call.name, call.arguments_json):
            return Decision(Verdict.ALLOW, "standing-approval", "the owner said always to this")
        return await self._ask(call, decision.reason, ask)

    async def _ask(self, call: ToolCall, reason: str, ask: Ask) -> Decision:
        try:
            async with asyncio.timeout(QUESTION_TIMEOUT_S):
                answer = await ask(Question(call.name, call.arguments_json, reason))
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


def _denied(rule: str, reason: str) -> Decision:
    return Decision(Verdict.DENY, rule, reason)
