"""The gate: one pure function decides every tool call, whatever the tool is.

It looks at the call and its effect, at the lowest trust of anything the model has read in this
turn, at the owner's policy, and at what was done already. It knows nothing else, touches nothing.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.messages import Effect, Provenance


class Autonomy(enum.Enum):
    """How much the owner lets the agent do without a question."""

    # Looks, never acts
    READONLY = "readonly"
    # Acts on the owner's word within harmless limits, asks for the rest
    SUPERVISED = "supervised"
    # Acts on the owner's word without questions; only a whole program is asked about
    FULL = "full"


class Verdict(enum.Enum):
    """What becomes of a call."""

    ALLOW = "allow"
    # The owner is asked and has the last word
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, the name of the rule that gave it, and a sentence for the person."""

    verdict: Verdict
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Call:
    """What is to be done: the tool, what it can do, and its arguments as text."""

    tool: str
    effect: Effect
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Limits:
    """How often something may happen without a question."""

    per_turn: int | None = None
    per_hour: int | None = None
    per_day: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """The owner's word on some calls.

    Args:
        tool: its name; a `*` at the end stands for any rest.
        where: arguments that have to be so, each like `tool`; none is every call of the tool.
        verdict: None where only the limits matter.
    """

    name: str
    tool: str
    where: Mapping[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    limits: Limits = Limits()

    def covers(self, call: Call) -> bool:
        return _matches(self.tool, call.tool) and all(
            name in call.arguments and _matches(pattern, call.arguments[name])
            for name, pattern in self.where.items()
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """All that the owner has laid down; `limits` are for all effects together."""

    autonomy: Autonomy
    rules: tuple[Rule, ...] = ()
    limits: Limits = Limits()

    def rules_for(self, call: Call) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.covers(call))


@dataclass(frozen=True, slots=True)
class Done:
    """How often something happened in this turn, in the last hour and in the last day."""

    turn: int = 0
    hour: int = 0
    day: int = 0


# What was done, by the name of a rule; all effects together are under ALL
Counters = Mapping[str, Done]
ALL = ""
# What the name of a rule begins with when a limit gave the verdict, or a rule of the owner's
LIMIT = "limit:"
OWN = "rule:"

# Effects that supervised autonomy leaves to the owner's plain word
_HARMLESS_ON_OWNERS_WORD = frozenset({Effect.WRITE, Effect.ACTUATE})


def decide(call: Call, provenance: Provenance, policy: Policy, counters: Counters) -> Decision:
    """Allow, ask or deny a call in a turn of this provenance."""
    rules = policy.rules_for(call)
    return (
        _refused(call, policy, rules)
        or _questioned(call, provenance, rules, _exhausted(call, policy, rules, counters))
        or _allowed(call, policy, rules)
    )


def denied(rule: str, reason: str) -> Decision:
    """What is said where something beside the policy refuses."""
    return Decision(Verdict.DENY, rule, reason)


def _refused(call: Call, policy: Policy, rules: tuple[Rule, ...]) -> Decision | None:
    """What nobody's yes can change."""
    if denying := _first(rules, Verdict.DENY):
        return _by(denying, Verdict.DENY, "refuses this")
    if call.effect is not Effect.READ and policy.autonomy is Autonomy.READONLY:
        return Decision(
            Verdict.DENY, "readonly", 'agent.autonomy is "readonly": nothing may be changed'
        )
    return None


def _questioned(
    call: Call, provenance: Provenance, rules: tuple[Rule, ...], exhausted: Decision | None
) -> Decision | None:
    """What is asked under every autonomy; the first question decides, the others are told too."""
    found = [exhausted] if exhausted else []
    if call.effect is not Effect.READ and provenance < Provenance.OWNER:
        origin = provenance.name.lower()
        reason = f"what I go by holds text of {origin} origin, not only your words"
        found.append(Decision(Verdict.ASK, "provenance", reason))
    if asking := _first(rules, Verdict.ASK):
        found.append(_by(asking, Verdict.ASK, "wants you to be asked"))
    if not found:
        return None
    return Decision(Verdict.ASK, found[0].rule, "; ".join(one.reason for one in found))


def _allowed(call: Call, policy: Policy, rules: tuple[Rule, ...]) -> Decision:
    """What the owner's own words may do."""
    if call.effect is Effect.READ:
        return Decision(Verdict.ALLOW, "read", "it only looks")
    if allowing := _first(rules, Verdict.ALLOW):
        return _by(allowing, Verdict.ALLOW, "allows this on your word")
    if policy.autonomy is Autonomy.FULL and call.effect is not Effect.EXECUTE:
        return Decision(Verdict.ALLOW, "full", 'agent.autonomy is "full"')
    if call.effect in _HARMLESS_ON_OWNERS_WORD:
        return Decision(Verdict.ALLOW, "owners-word", "you asked for it, and it is harmless")
    rule = "execute" if call.effect is Effect.EXECUTE else f"supervised-{call.effect.value}"
    return Decision(Verdict.ASK, rule, f"it can {_DANGER[call.effect]}")


def _exhausted(
    call: Call, policy: Policy, rules: tuple[Rule, ...], counters: Counters
) -> Decision | None:
    """A question where it was done as often as it may be without one."""
    if call.effect is Effect.READ:
        return None
    for name, limits in ((ALL, policy.limits), *((rule.name, rule.limits) for rule in rules)):
        done = counters.get(name, Done())
        for span, count, most in (
            ("turn", done.turn, limits.per_turn),
            ("hour", done.hour, limits.per_hour),
            ("day", done.day, limits.per_day),
        ):
            if most is not None and count >= most:
                whose = f"agent.rules.{name}.per_{span}" if name else f"the limit in a {span}"
                reason = f"{whose} is {most}, and that many were done"
                return Decision(Verdict.ASK, f"{LIMIT}{name or 'all'}.per_{span}", reason)
    return None


def _first(rules: tuple[Rule, ...], verdict: Verdict) -> Rule | None:
    return next((rule for rule in rules if rule.verdict is verdict), None)


def _by(rule: Rule, verdict: Verdict, what: str) -> Decision:
    return Decision(verdict, f"{OWN}{rule.name}", f"your rule agent.rules.{rule.name} {what}")


def _matches(pattern: str, text: str) -> bool:
    if pattern.endswith("*"):
        return text.startswith(pattern[:-1])
    return text == pattern


_DANGER = {
    Effect.HAZARD: "move something that may hurt",
    Effect.EXECUTE: "start a program that may do anything",
    Effect.NETWORK: "send something out",
    Effect.SPEND: "cost money",
    Effect.ERASE: "delete many things for good",
}
