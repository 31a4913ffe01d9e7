"""Gate: one pure function decides every tool call.

It looks at the call and its effect, at the lowest trust of anything the model has read in this
turn, at the owner's policy, and at what was done already. It knows nothing else, touches nothing.
"""

import enum
from collections.abc import Collection, Mapping

from msgspec import Struct, field

from agent.messages import Effect, Provenance


class Autonomy(enum.Enum):
    """Freedom of the agent to act without a question."""

    # Looks, never acts
    READONLY = "readonly"
    # Acts on the owner's word within harmless limits, asks for the rest
    SUPERVISED = "supervised"
    # Acts on the owner's word without questions; only a whole program is asked about
    FULL = "full"


class Verdict(enum.Enum):
    """Verdict on a call."""

    ALLOW = "allow"
    # The owner is asked and has the last word
    ASK = "ask"
    DENY = "deny"


class Decision(Struct, frozen=True):
    """A verdict, the rule that gave it, and a sentence for the person."""

    verdict: Verdict
    rule: str
    reason: str


class GateCall(Struct, frozen=True):
    """A call to decide: the tool, its effect, and its arguments as text.

    Args:
        within: what stands in lists and tables of the arguments, by the names that it has there.
        places: files and folders of the workspace that the call may open besides, with all beneath
            them; "." is the whole workspace.
    """

    tool: str
    effect: Effect
    arguments: Mapping[str, str] = field(default_factory=dict)
    within: Mapping[str, Collection[str]] = field(default_factory=dict)
    places: Collection[str] = ()

    def told(self, argument: str) -> list[str]:
        """Return all that the call says under this name, at any depth."""
        whole = [self.arguments[argument]] if argument in self.arguments else []
        return [*whole, *self.within.get(argument, ())]


class ActLimits(Struct, frozen=True):
    """Number of calls that need no question, in a turn, an hour and a day."""

    per_turn: int | None = None
    per_hour: int | None = None
    per_day: int | None = None


class PolicyRule(Struct, frozen=True):
    """A rule of the owner for some calls.

    Args:
        tool: its name; a `*` at the end stands for any rest.
        where: arguments that have to be so, each like `tool`; none is every call of the tool.
        verdict: None where only the limits matter.
    """

    name: str
    tool: str
    where: Mapping[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    limits: ActLimits = ActLimits()

    def covers(self, call: GateCall) -> bool:
        """Return true if this is such a call.

        One of several things is enough for a refusal, a question and a limit. What is allowed is
        allowed as a whole.
        """
        return _matches(self.tool, call.tool) and all(
            any(_matches(pattern, text) for text in self._compared(call, name))
            or (name == _PATH and self._may_open(call, pattern))
            for name, pattern in self.where.items()
        )

    def _may_open(self, call: GateCall, pattern: str) -> bool:
        """Return true if the call may open such a path without naming it as an argument.

        In doubt it does, for a refusal or a question; nothing is allowed for that.
        """
        is_strict = self.verdict in {Verdict.DENY, Verdict.ASK}
        return is_strict and any(_reaches(pattern, place) for place in call.places)

    def _compared(self, call: GateCall, name: str) -> list[str]:
        if self.verdict is Verdict.ALLOW:
            return [call.arguments[name]] if name in call.arguments else []
        return call.told(name)


class Policy(Struct, frozen=True):
    """Everything that the owner laid down; `limits` apply to all effects together."""

    autonomy: Autonomy
    rules: tuple[PolicyRule, ...] = ()
    limits: ActLimits = ActLimits()

    def rules_for(self, call: GateCall) -> tuple[PolicyRule, ...]:
        return tuple(rule for rule in self.rules if rule.covers(call))

    def looks_at(self, argument: str) -> bool:
        """Return true if a rule compares this argument."""
        return any(argument in rule.where for rule in self.rules)

    def denies(self, call: GateCall) -> bool:
        """Return true if a rule refuses the call, whoever orders it."""
        return _first(self.rules_for(call), Verdict.DENY) is not None


class ActCount(Struct, frozen=True):
    """Number of earlier acts in this turn, the last hour and the last day."""

    turn: int = 0
    hour: int = 0
    day: int = 0


# What was done, by the name of a rule; all effects together are under ALL
Counters = Mapping[str, ActCount]
ALL = ""
# What the name of a rule begins with when a limit gave the verdict, or a rule of the owner's
LIMIT = "limit:"
OWN = "rule:"
# The rule for hazards that were ordered aloud; nothing stands for its question
SPOKEN = "spoken"
_SPOKEN_REASON = "it was said aloud and may hurt, so I ask in writing"

# The argument that names files in the tools for them, and the workspace itself
_PATH, _WHOLE = "path", "."

# A rule that has something asked, and the reason
_Doubt = tuple[str, str]

# The least trusted text of a turn, as the owner reads it
TEXT_READ: Mapping[Provenance, str] = {
    Provenance.USER: "another person wrote in this conversation",
    Provenance.SENSOR: "I read the board or a sensor in this conversation",
    Provenance.MODEL: "I used a note of my own in this conversation",
    Provenance.TOOL: "I read a file or the output of a tool in this conversation",
    Provenance.WEB: "I read text from the web or from an unknown source in this conversation",
}

# Effects that supervised autonomy leaves to the owner's plain word
_HARMLESS_ON_OWNERS_WORD = frozenset({Effect.WRITE, Effect.ACTUATE})


def decide(call: GateCall, provenance: Provenance, policy: Policy, counters: Counters) -> Decision:
    """Allow, ask or deny a call in a turn of this provenance."""
    rules = policy.rules_for(call)
    return (
        _refused(call, policy, rules)
        or _questioned(call, provenance, rules, _exhausted(call, policy, rules, counters))
        or _allowed(call, policy, rules)
    )


def in_writing(call: GateCall, decision: Decision) -> Decision:
    """Return the decision on a call that was ordered aloud: what may hurt is asked in writing.

    A recogniser can take one word for another, and nobody sees what was said.
    """
    if call.effect is not Effect.HAZARD or decision.verdict is Verdict.DENY:
        return decision
    asked = f"; {decision.reason}" if decision.verdict is Verdict.ASK else ""
    return Decision(Verdict.ASK, SPOKEN, f"{_SPOKEN_REASON}{asked}")


def denied(rule: str, reason: str) -> Decision:
    """Return a refusal that comes from outside the policy."""
    return Decision(Verdict.DENY, rule, reason)


def _refused(call: GateCall, policy: Policy, rules: tuple[PolicyRule, ...]) -> Decision | None:
    """Return the refusals that no approval overrides."""
    if denying := _first(rules, Verdict.DENY):
        return _by(denying, Verdict.DENY, "refuses this")
    if call.effect is not Effect.READ and policy.autonomy is Autonomy.READONLY:
        return Decision(
            Verdict.DENY, "readonly", 'agent.autonomy is "readonly": nothing may be changed'
        )
    return None


def _questioned(
    call: GateCall, provenance: Provenance, rules: tuple[PolicyRule, ...], exhausted: _Doubt | None
) -> Decision | None:
    """Return the first question that every autonomy level asks; it mentions the others."""
    found = [exhausted] if exhausted else []
    if call.effect is not Effect.READ and provenance < Provenance.OWNER:
        reason = f"{TEXT_READ[provenance]}, so I ask before acting on it"
        found.append(("provenance", reason))
    if asking := _first(rules, Verdict.ASK):
        found.append((f"{OWN}{asking.name}", f"{_named(asking)} says to ask you"))
    if not found:
        return None
    return Decision(Verdict.ASK, found[0][0], "; ".join(reason for _, reason in found))


def _allowed(call: GateCall, policy: Policy, rules: tuple[PolicyRule, ...]) -> Decision:
    """Return the decision for the owner's own words."""
    if call.effect is Effect.READ:
        return Decision(Verdict.ALLOW, "read", "it only looks")
    if allowing := _first(rules, Verdict.ALLOW):
        return _by(allowing, Verdict.ALLOW, "allows this when you order it")
    if policy.autonomy is Autonomy.FULL and call.effect is not Effect.EXECUTE:
        return Decision(Verdict.ALLOW, "full", 'agent.autonomy is "full"')
    if call.effect in _HARMLESS_ON_OWNERS_WORD:
        return Decision(Verdict.ALLOW, "owners-word", "you asked for it, and it is harmless")
    rule = "execute" if call.effect is Effect.EXECUTE else f"supervised-{call.effect.value}"
    return Decision(Verdict.ASK, rule, f"it can {_DANGER[call.effect]}")


def _exhausted(
    call: GateCall, policy: Policy, rules: tuple[PolicyRule, ...], counters: Counters
) -> _Doubt | None:
    """Return a question if a limit is used up."""
    if call.effect is Effect.READ:
        return None
    for name, limits in ((ALL, policy.limits), *((rule.name, rule.limits) for rule in rules)):
        done = counters.get(name, ActCount())
        for span, count, most in (
            ("turn", done.turn, limits.per_turn),
            ("hour", done.hour, limits.per_hour),
            ("day", done.day, limits.per_day),
        ):
            if most is not None and count >= most:
                whose = f"agent.rules.{name}.per_{span}" if name else f"the limit per {span}"
                reason = f"{whose} is {most}, which is used up"
                return f"{LIMIT}{name or 'all'}.per_{span}", reason
    return None


def _first(rules: tuple[PolicyRule, ...], verdict: Verdict) -> PolicyRule | None:
    return next((rule for rule in rules if rule.verdict is verdict), None)


def _by(rule: PolicyRule, verdict: Verdict, what: str) -> Decision:
    return Decision(verdict, f"{OWN}{rule.name}", f"{_named(rule)} {what}")


def _named(rule: PolicyRule) -> str:
    return f"your rule agent.rules.{rule.name}"


def _reaches(pattern: str, place: str) -> bool:
    """Return true if such a path may be at a place of the workspace, or beneath it."""
    if pattern.startswith("/"):
        return False
    begun = pattern.removesuffix("*")
    inside = f"{place}/"
    is_there = _matches(pattern, place) or _matches(pattern, inside)
    return place == _WHOLE or is_there or begun.startswith(inside)


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
