"""The gate for every tool call: the policy decides, or the owner where the policy says so.

While the emergency stop is set nothing that changes the world passes, whoever asks. Every decision
goes on record, and what cannot go on record does not happen.
"""

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.approvals.button import NoButton, PresenceRule
from agent.approvals.records import CARRIES_KEY_TEXT, CallCase, CallCircumstances, NotRecorded
from agent.errors import StorageFull
from agent.messages import Effect, Provenance, ToolCall, ToolResult
from agent.security.access import weighed
from agent.security.approvals import ApprovalVoid, StandingApprovals
from agent.security.estop import EmergencyStop
from agent.security.policy import (
    Counters,
    Decision,
    GateCall,
    Policy,
    Verdict,
    decide,
    denied,
    in_writing,
)
from agent.system.activity import Activity

if TYPE_CHECKING:
    from agent.approvals.questions import ApprovalQuestions, Ask


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
        self._stop = stop
        self._presence = presence or PresenceRule(NoButton())
        self._approvals = approvals
        self._activity = activity or Activity()
        self._records = records or NotRecorded()
        # Between counting and noting nobody else may count
        self._counting = asyncio.Lock()

    def adopt(self, policy: Policy, demanded_for: frozenset[Effect]) -> None:
        """Decide by this from the next decision on."""
        self._policy = policy
        self._presence.demanded_for = demanded_for

    def looks_at(self, argument: str) -> bool:
        """Return true if a rule of the owner compares this argument of calls."""
        return self._policy.looks_at(argument)

    def denies_url(self, tool: str, url: str) -> bool:
        """Return true if a rule of the owner refuses this URL to a tool, in its one spelling."""
        return self._policy.denies(GateCall(tool, Effect.NETWORK, {"url": url}))

    async def admit(
        self,
        call: ToolCall,
        effect: Effect,
        provenance: Provenance,
        ask: "Ask",
        circumstances: CallCircumstances | None = None,
    ) -> Decision:
        """A decision that is final: allow or deny."""
        case = CallCase(call, effect, provenance, circumstances or CallCircumstances())
        if self._is_stopped(case):
            return await self._recorded(case, self._stopped())
        if case.circumstances.holds_secret and effect is Effect.NETWORK:
            return await self._recorded(case, denied("secret", CARRIES_KEY_TEXT))
        async with self._counting:
            decision = await self._decided(case)
            if not self._is_question(decision, effect):
                return await self._recorded(case, decision)
        await self._recorded(case, replace(decision, verdict=Verdict.ASK))
        decision = await self._questions.put(case, decision, ask)
        # It may have been set while the owner was reading the question
        return await self._recorded(case, self._stopped() if self._is_stopped(case) else decision)

    async def confirm(self, decision: Decision, effect: Effect) -> None:
        """Look once more right before the act; nothing may wait between this and it.

        Raises:
            ApprovalVoid: what was allowed is not what would happen now.
        """
        await self._questions.spend(decision)
        if self._stop.is_set and effect is not Effect.READ:
            raise ApprovalVoid(self._stop.sentence)

    async def came_of(
        self,
        call: ToolCall,
        effect: Effect,
        provenance: Provenance,
        circumstances: CallCircumstances,
        result: ToolResult,
    ) -> None:
        """Put on record what came of an effect that was admitted."""
        if effect is not Effect.READ:
            await self._records.came_of(CallCase(call, effect, provenance, circumstances), result)

    @cached_property
    def _questions(self) -> "ApprovalQuestions":
        from agent.approvals.questions import ApprovalQuestions  # noqa: PLC0415 - the first turn needs it

        return ApprovalQuestions(self._approvals, self._presence, self._activity)

    def _is_stopped(self, case: CallCase) -> bool:
        return self._stop.is_set and case.effect is not Effect.READ

    def _stopped(self) -> Decision:
        return denied("estop", self._stop.sentence)

    def _is_question(self, decision: Decision, effect: Effect) -> bool:
        if decision.verdict is Verdict.ALLOW:
            return effect in self._presence.demanded_for
        return decision.verdict is Verdict.ASK

    async def _decided(self, case: CallCase) -> Decision:
        counters: Counters = {}
        if case.effect is not Effect.READ:
            try:
                counters = await self._records.counters(case.circumstances.turn)
            except StorageFull as err:
                return _unrecorded(err)
        decision = decide(case.as_call, case.provenance, self._policy, counters)
        if case.circumstances.is_spoken:
            decision = in_writing(case.as_call, decision)
        return weighed(decision, case.circumstances.reach)

    async def _recorded(self, case: CallCase, decision: Decision) -> Decision:
        self._activity.verdicts[decision.verdict.value] += 1
        try:
            await self._records.decided(case, decision, self._policy)
        except StorageFull as err:
            return _unrecorded(err)
        return decision


def _unrecorded(err: StorageFull) -> Decision:
    return denied("unrecorded", f"it could not be recorded: {err}")
