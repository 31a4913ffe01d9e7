import itertools
import re
from pathlib import Path

import pytest

import agent.dispatch.gate
import agent.dispatch.questions
from agent.messages import Effect, Provenance
from agent.security.policy import Autonomy, Call, Limits, Policy, Rule, Verdict, decide
from agent.security.remedies import remedy_of

UNKNOWN = remedy_of("nonsense")
# What the gate itself decides, beside the policy
GATES = re.compile(r'(?:denied\(\s*|question_id, |new_question_id\(\), )"([a-z-]+)"')


def test_every_rule_of_the_policy_has_one() -> None:
    for effect, provenance, autonomy in itertools.product(Effect, Provenance, Autonomy):
        decision = decide(Call("x", effect), provenance, Policy(autonomy), {})
        assert remedy_of(decision.rule) != UNKNOWN, decision.rule


def test_every_rule_of_the_gate_has_one() -> None:
    files = (agent.dispatch.gate.__file__, agent.dispatch.questions.__file__)
    rules = {rule for file in files for rule in GATES.findall(Path(file).read_text())}
    assert {"estop", "too-long", "owner-no", "not-asked", "unrecorded", "presence"} <= rules
    assert "standing-approval" in rules
    for rule in (*rules, "owner-yes", "owner-always"):
        assert remedy_of(rule) != UNKNOWN, rule


@pytest.mark.parametrize(
    ("rule", "limits", "said"),
    [
        (Rule("pump", "*", {}, Verdict.ASK), Limits(), "[agent.rules.pump]"),
        (Rule("pump", "*", {}, None, Limits(per_day=0)), Limits(), "[agent.rules.pump]"),
        (Rule("pump", "y"), Limits(per_hour=0), "[agent.rules.all]"),
    ],
)
def test_the_owners_own_are_named(rule: Rule, limits: Limits, said: str) -> None:
    call = Call("x", Effect.ACTUATE)
    decision = decide(call, Provenance.OWNER, Policy(Autonomy.FULL, (rule,), limits), {})
    assert said in remedy_of(decision.rule)
