"""Whether new safety limits let the agent do more than the old ones: then the owner has a word.

A pure comparison. Whatever is not plainly as tight as before counts as looser.
"""

from collections.abc import Iterator

from agent.dispatch.settings import AgentSettings
from agent.security.policy import Autonomy, Limits, Rule, Verdict

# From the least that may be done to the most
_AUTONOMY = (Autonomy.READONLY, Autonomy.SUPERVISED, Autonomy.FULL)
_STRICTNESS = {None: 0, Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}


def loosened(old: AgentSettings, new: AgentSettings) -> tuple[str, ...]:
    """The keys that are looser in the new settings, in the order in which they are written."""
    return tuple(_loosened(old, new))


def _loosened(old: AgentSettings, new: AgentSettings) -> Iterator[str]:
    if _AUTONOMY.index(new.autonomy) > _AUTONOMY.index(old.autonomy):
        yield "agent.autonomy"
    if not {*old.presence_for} <= {*new.presence_for}:
        yield "agent.presence_for"
    before = {rule.name: rule for rule in old.policy.rules}
    after = {rule.name: rule for rule in new.policy.rules}
    for name in {**before, **after}:
        if _is_looser_rule(before.get(name), after.get(name)):
            yield f"agent.rules.{name}"
    if _are_looser(old.policy.limits, new.policy.limits) and not _all_tighter(old, new):
        yield "agent.rules"


def _is_looser_rule(before: Rule | None, after: Rule | None) -> bool:
    if before is None:
        # A new rule takes nothing away from what others refuse, unless it allows
        return after is not None and after.verdict is Verdict.ALLOW
    if after is None:
        return before.verdict is not Verdict.ALLOW or before.limits != Limits()
    if (before.tool, before.where) != (after.tool, after.where):
        return True
    return _STRICTNESS[after.verdict] < _STRICTNESS[before.verdict] or (
        after.verdict is Verdict.ALLOW and before.verdict is not Verdict.ALLOW
    ) or _are_looser(before.limits, after.limits)  # fmt: skip


def _all_tighter(old: AgentSettings, new: AgentSettings) -> bool:
    """The usual limits give way to a rule of the owner's for everything that is no looser."""
    usual = old.policy.limits
    own = [rule.limits for rule in new.policy.rules if rule.tool == "*" and not rule.where]
    return any(not _are_looser(usual, limits) for limits in own)


def _are_looser(before: Limits, after: Limits) -> bool:
    pairs = (
        (before.per_turn, after.per_turn),
        (before.per_hour, after.per_hour),
        (before.per_day, after.per_day),
    )
    return any(old is not None and (new is None or new > old) for old, new in pairs)
