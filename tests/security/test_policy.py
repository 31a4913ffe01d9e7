import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Effect, Provenance
from agent.security.policy import Autonomy, Verdict, decide

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
READONLY, SUPERVISED, FULL = Autonomy.READONLY, Autonomy.SUPERVISED, Autonomy.FULL

effects = st.sampled_from(Effect)
provenances = st.sampled_from(Provenance)
autonomies = st.sampled_from(Autonomy)

# What the owner's own words may do: effect, then the verdict under each autonomy
OWNERS_WORD = {
    Effect.READ: {READONLY: ALLOW, SUPERVISED: ALLOW, FULL: ALLOW},
    Effect.WRITE: {READONLY: DENY, SUPERVISED: ALLOW, FULL: ALLOW},
    Effect.ACTUATE: {READONLY: DENY, SUPERVISED: ALLOW, FULL: ALLOW},
    Effect.HAZARD: {READONLY: DENY, SUPERVISED: ASK, FULL: ALLOW},
    Effect.EXECUTE: {READONLY: DENY, SUPERVISED: ASK, FULL: ALLOW},
    Effect.NETWORK: {READONLY: DENY, SUPERVISED: ASK, FULL: ALLOW},
    Effect.SPEND: {READONLY: DENY, SUPERVISED: ASK, FULL: ALLOW},
    Effect.ERASE: {READONLY: DENY, SUPERVISED: ASK, FULL: ALLOW},
}
# What a turn may do that has read anything else
ANYBODYS_WORD = {READONLY: DENY, SUPERVISED: ASK, FULL: ASK}
# The more a verdict lets happen, the higher
FREEDOM = {DENY: 0, ASK: 1, ALLOW: 2}


def expected(effect: Effect, provenance: Provenance, autonomy: Autonomy) -> Verdict:
    if effect is Effect.READ or provenance is Provenance.OWNER:
        return OWNERS_WORD[effect][autonomy]
    return ANYBODYS_WORD[autonomy]


@pytest.mark.parametrize(
    ("effect", "provenance", "autonomy"), [*itertools.product(Effect, Provenance, Autonomy)]
)
def test_every_case_of_the_table(
    effect: Effect, provenance: Provenance, autonomy: Autonomy
) -> None:
    decision = decide(effect, provenance, autonomy)
    assert decision.verdict is expected(effect, provenance, autonomy)


def test_the_table_has_a_line_for_every_effect_and_autonomy() -> None:
    assert set(OWNERS_WORD) == set(Effect)
    assert all(set(verdicts) == set(Autonomy) for verdicts in OWNERS_WORD.values())
    assert set(ANYBODYS_WORD) == set(Autonomy)


@given(effects, provenances)
def test_readonly_never_lets_anything_happen_even_after_a_question(
    effect: Effect, provenance: Provenance
) -> None:
    verdict = decide(effect, provenance, READONLY).verdict
    assert verdict is (ALLOW if effect is Effect.READ else DENY)


@given(effects, provenances, provenances, autonomies)
def test_lower_trust_never_allows_more(
    effect: Effect, one: Provenance, other: Provenance, autonomy: Autonomy
) -> None:
    low, high = sorted((one, other))
    freedom_low = FREEDOM[decide(effect, low, autonomy).verdict]
    assert freedom_low <= FREEDOM[decide(effect, high, autonomy).verdict]


@given(effects, provenances)
def test_more_autonomy_never_allows_less(effect: Effect, provenance: Provenance) -> None:
    freedoms = [
        FREEDOM[decide(effect, provenance, autonomy).verdict]
        for autonomy in (READONLY, SUPERVISED, FULL)
    ]
    assert freedoms == sorted(freedoms)


@given(effects.filter(lambda effect: effect is not Effect.READ), provenances, autonomies)
def test_text_from_outside_never_acts_without_the_owner(
    effect: Effect, provenance: Provenance, autonomy: Autonomy
) -> None:
    if provenance is not Provenance.OWNER:
        assert decide(effect, provenance, autonomy).verdict is not ALLOW


@given(effects, provenances, autonomies)
def test_a_decision_says_why(effect: Effect, provenance: Provenance, autonomy: Autonomy) -> None:
    decision = decide(effect, provenance, autonomy)
    assert decision.rule
    assert len(decision.reason) > 8
    assert decision == decide(effect, provenance, autonomy)


def test_the_reason_names_the_origin_that_was_read() -> None:
    assert "web origin" in decide(Effect.ACTUATE, Provenance.WEB, FULL).reason


def test_rules_have_names_that_tell_them_apart() -> None:
    rules = {
        decide(effect, provenance, autonomy).rule
        for effect, provenance, autonomy in itertools.product(Effect, Provenance, Autonomy)
    }
    assert rules == {
        "read",
        "readonly",
        "provenance",
        "full",
        "owners-word",
        "supervised-hazard",
        "supervised-execute",
        "supervised-network",
        "supervised-spend",
        "supervised-erase",
    }
