"""The gate: one pure function decides every tool call, whatever the tool is.

It looks at the tool's effect, at the lowest trust of anything the model has read in this turn,
and at the owner's chosen autonomy. It knows nothing else and touches nothing.
"""

import enum
from dataclasses import dataclass

from agent.messages import Effect, Provenance


class Autonomy(enum.Enum):
    """How much the owner lets the agent do without a question."""

    # Looks, never acts
    READONLY = "readonly"
    # Acts on the owner's word within harmless limits, asks for the rest
    SUPERVISED = "supervised"
    # Acts on the owner's word without questions
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


# Effects that supervised autonomy leaves to the owner's plain word
_HARMLESS_ON_OWNERS_WORD = frozenset({Effect.WRITE, Effect.ACTUATE})


def decide(effect: Effect, provenance: Provenance, autonomy: Autonomy) -> Decision:
    """Allow, ask or deny a call of this effect in a turn of this provenance."""
    if effect is Effect.READ:
        return Decision(Verdict.ALLOW, "read", "it only looks")
    if autonomy is Autonomy.READONLY:
        return Decision(
            Verdict.DENY, "readonly", 'agent.autonomy is "readonly": nothing may be changed'
        )
    if provenance < Provenance.OWNER:
        return Decision(
            Verdict.ASK,
            "provenance",
            f"what I go by holds text of {provenance.name.lower()} origin, not only your words",
        )
    if autonomy is Autonomy.FULL:
        return Decision(Verdict.ALLOW, "full", 'agent.autonomy is "full"')
    if effect in _HARMLESS_ON_OWNERS_WORD:
        return Decision(Verdict.ALLOW, "owners-word", "you asked for it, and it is harmless")
    return Decision(Verdict.ASK, f"supervised-{effect.value}", f"it can {_DANGER[effect]}")


_DANGER = {
    Effect.HAZARD: "move something that may hurt",
    Effect.EXECUTE: "start a program",
    Effect.NETWORK: "send something out",
    Effect.SPEND: "cost money",
    Effect.ERASE: "delete many things for good",
}
