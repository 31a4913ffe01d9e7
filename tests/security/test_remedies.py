import itertools
import re
from pathlib import Path

import pytest

import agent.approvals.gate
import agent.approvals.questions
from agent.messages import Effect, Provenance
from agent.security.policy import ActLimits, Autonomy, GateCall, Policy, PolicyRule, Verdict, decide
from agent.security.remedies import remedy_of

UNKNOWN = remedy_of("nonsense")
# What the gate itself decides, beside the policy
GATES = re.compile(r'(?:denied\(\s*|question_id, |new_question_id\(\), )"([a-z-]+)"')


def test_every_rule_of_the_policy_has_one() -> None:
    for effect, provenance, autonomy in itertools.product(Effect, Provenance, Autonomy):
        decision = decide(GateCall("x", effect), provenance, Policy(autonomy), {})
        assert remedy_of(decision.rule) != UNKNOWN, decision.rule


def test_every_rule_of_the_gate_has_one() -> None:
    files = (agent.approvals.gate.__file__, agent.approvals.questions.__file__)
    rules = {rule for file in files for rule in GATES.findall(Path(file).read_text())}
    assert {"estop", "too-long", "owner-no", "not-asked", "unrecorded", "presence"} <= rules
    assert "standing-approval" in rules
    for rule in (*rules, "owner-yes", "owner-always"):
        assert remedy_of(rule) != UNKNOWN, rule


@pytest.mark.parametrize(
    ("rule", "limits", "said"),
    [
        (PolicyRule("pump", "*", {}, Verdict.ASK), ActLimits(), "[agent.rules.pump]"),
        (
            PolicyRule("pump", "*", {}, None, ActLimits(per_day=0)),
            ActLimits(),
            "[agent.rules.pump]",
        ),
        (PolicyRule("pump", "y"), ActLimits(per_hour=0), "[agent.rules.all]"),
    ],
)
def test_the_owners_own_are_named(rule: PolicyRule, limits: ActLimits, said: str) -> None:
    call = GateCall("x", Effect.ACTUATE)
    decision = decide(call, Provenance.OWNER, Policy(Autonomy.FULL, (rule,), limits), {})
    assert said in remedy_of(decision.rule)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("nonsense", "no advice for this rule"),
        ("rule:pump", "it is the table [agent.rules.pump] of your configuration"),
        (
            "limit:pump.per_day",
            "per_day in the table [agent.rules.pump] of your configuration is the limit",
        ),
        (
            "limit:all.per_hour",
            'answer yes, or add a table [agent.rules.all] with tool = "*" and per_hour = a number',
        ),
    ],
)
def test_a_rule_of_the_owners_and_a_limit_are_told_apart(rule: str, said: str) -> None:
    assert remedy_of(rule) == said
