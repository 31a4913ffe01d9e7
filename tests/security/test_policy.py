import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.messages import Effect, Provenance
from agent.security.policy import (
    ALL,
    ActCount,
    ActLimits,
    Autonomy,
    Decision,
    GateCall,
    Policy,
    PolicyRule,
    Verdict,
    denied,
    in_writing,
)
from agent.security.policy import decide as decide_call

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
    Effect.EXECUTE: {READONLY: DENY, SUPERVISED: ASK, FULL: ASK},
    Effect.NETWORK: {READONLY: DENY, SUPERVISED: ASK, FULL: ALLOW},
    Effect.SPEND: {READONLY: DENY, SUPERVISED: ASK, FULL: ALLOW},
    Effect.ERASE: {READONLY: DENY, SUPERVISED: ASK, FULL: ALLOW},
}
# What a turn may do that has read anything else
ANYBODYS_WORD = {READONLY: DENY, SUPERVISED: ASK, FULL: ASK}
# The more a verdict lets happen, the higher
FREEDOM = {DENY: 0, ASK: 1, ALLOW: 2}


def decide(effect: Effect, provenance: Provenance, autonomy: Autonomy) -> Decision:
    return decide_call(GateCall("tool", effect), provenance, Policy(autonomy), {})


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


def test_the_reason_names_what_was_read() -> None:
    found = {decide(Effect.ACTUATE, one, FULL).reason for one in Provenance if one is not OWNER}
    assert len(found) == len(Provenance) - 1
    assert "text from the web" in decide(Effect.ACTUATE, Provenance.WEB, FULL).reason


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
        "execute",
        "supervised-network",
        "supervised-spend",
        "supervised-erase",
    }


PUMP_ON = GateCall("board_gpio_write", Effect.HAZARD, {"pin": "pump", "value": "on"})
OWNER, WEB = Provenance.OWNER, Provenance.WEB


def under(
    *rules: PolicyRule, call: GateCall = PUMP_ON, autonomy: Autonomy = SUPERVISED
) -> Decision:
    return decide_call(call, OWNER, Policy(autonomy, rules), {})


class TestRules:
    @pytest.mark.parametrize("verdict", list(Verdict))
    def test_a_rule_decides_what_the_owner_says(self, verdict: Verdict) -> None:
        decision = under(PolicyRule("pump", "board_gpio_write", {"pin": "pump"}, verdict))
        assert (decision.verdict, decision.rule) == (verdict, "rule:pump")
        assert "agent.rules.pump" in decision.reason

    @pytest.mark.parametrize(
        ("tool", "where", "covers"),
        [
            ("board_gpio_write", {}, True),
            ("board_*", {"pin": "pump"}, True),
            ("*", {"pin": "p*", "value": "on"}, True),
            ("board_gpio", {}, False),
            ("file_*", {}, False),
            ("*", {"pin": "led*"}, False),
            ("board_gpio_write", {"pin": "led"}, False),
            ("board_gpio_write", {"pin": "pump", "value": "off"}, False),
            ("board_gpio_write", {"port": "*"}, False),
        ],
    )
    def test_what_it_covers(self, tool: str, where: dict[str, str], covers: bool) -> None:  # noqa: FBT001 - a case of a table
        assert PolicyRule("mine", tool, where).covers(PUMP_ON) is covers

    def test_one_of_several_things_is_refused_and_asked_but_all_are_allowed(self) -> None:
        both = GateCall("mcp_files_read", Effect.NETWORK, {"paths": '["a/b", "c"]'})
        both = replace(both, within={"path": ("a/b", "c")})
        for where, covers in (
            ({"path": "a/*"}, True),
            ({"path": "c"}, True),
            ({"path": "a/*", "paths": '["a/b", "c"]'}, True),
            ({"path": "b"}, False),
            ({"paths": "a/*"}, False),
        ):
            for verdict in (DENY, ASK, None):
                assert PolicyRule("r", "mcp_*", where, verdict).covers(both) is covers
            assert not PolicyRule("r", "mcp_*", {"path": "*"} | where, ALLOW).covers(both)

    @pytest.mark.parametrize(
        ("pattern", "place", "covers"),
        [
            ("diary/*", "diary/may.md", True),
            ("diary/*", "diary", True),
            ("diary/2026/*", "diary", True),
            ("diary/may.md", "diary", True),
            ("diary*", "diary", True),
            ("diary/*", ".", True),
            ("*", "log.txt", True),
            ("diary/*", "diaries", False),
            ("diary/*", "log.txt", False),
            ("diary/may.md", "diary/june.md", False),
            ("/etc/*", ".", False),
        ],
    )
    def test_a_path_that_a_call_may_open_is_refused_and_asked_and_never_allowed(
        self,
        pattern: str,
        place: str,
        covers: bool,  # noqa: FBT001 - a case of a table
    ) -> None:
        call = GateCall("shell", Effect.READ, {"argv": "[]"}, places=(place,))
        for verdict, expected in ((DENY, covers), (ASK, covers), (ALLOW, False), (None, False)):
            assert PolicyRule("r", "*", {"path": pattern}, verdict).covers(call) is expected
        assert not PolicyRule("r", "*", {"folder": pattern}, DENY).covers(call)

    def test_the_policy_knows_which_arguments_its_rules_compare(self) -> None:
        policy = Policy(SUPERVISED, (PolicyRule("r", "*"), PolicyRule("p", "*", {"pin": "led"})))
        assert policy.looks_at("pin")
        assert not policy.looks_at("url")

    def test_the_policy_knows_what_a_rule_refuses_whoever_orders_it(self) -> None:
        rules = [
            PolicyRule("p", "web_*", {"url": "https://a.org/*"}, DENY),
            PolicyRule("q", "*", {"url": "https://b.org/*"}, ASK),
            PolicyRule("r", "*", {"url": "*", "method": "POST"}, DENY),
        ]
        policy = Policy(FULL, tuple(rules))
        for tool, url, is_denied in (
            ("web_fetch", "https://a.org/b", True),
            ("browser_open", "https://a.org/b", False),
            ("web_fetch", "https://b.org/", False),
        ):
            assert policy.denies(GateCall(tool, Effect.NETWORK, {"url": url})) is is_denied

    def test_the_strictest_of_several_decides_in_any_order(self) -> None:
        rules = [PolicyRule(verdict.value, "*", {}, verdict) for verdict in Verdict]
        for order in itertools.permutations(rules):
            assert under(*order).rule == "rule:deny"
        assert under(rules[0], rules[1]).rule == "rule:ask"

    def test_a_rule_may_forbid_or_ask_even_a_look(self) -> None:
        look = GateCall("file_read", Effect.READ, {"path": "diary"})
        for verdict in (ASK, DENY):
            assert under(PolicyRule("r", "file_read", {}, verdict), call=look).verdict is verdict

    def test_no_rule_lets_readonly_act(self) -> None:
        assert under(PolicyRule("r", "*", {}, ALLOW), autonomy=READONLY).rule == "readonly"

    @given(effects, provenances, autonomies)
    def test_no_rule_lets_text_from_outside_act(
        self, effect: Effect, provenance: Provenance, autonomy: Autonomy
    ) -> None:
        policy = Policy(autonomy, (PolicyRule("r", "*", {}, ALLOW),))
        if effect is not Effect.READ and provenance is not OWNER:
            assert decide_call(GateCall("x", effect), provenance, policy, {}).verdict is not ALLOW

    def test_a_question_names_all_its_reasons(self) -> None:
        policy = Policy(FULL, (PolicyRule("r", "*", {}, ASK),), ActLimits(per_hour=0))
        decision = decide_call(PUMP_ON, WEB, policy, {})
        assert decision.rule == "limit:all.per_hour"
        assert all(word in decision.reason for word in ("per hour", "text from the web", "rules.r"))


class TestLimits:
    @pytest.mark.parametrize("span", ["turn", "hour", "day"])
    def test_what_was_done_that_often_is_asked(self, span: str) -> None:
        policy = Policy(FULL, (), ActLimits(**{f"per_{span}": 3}))
        for count, verdict in ((2, ALLOW), (3, ASK), (4, ASK)):
            decision = decide_call(PUMP_ON, OWNER, policy, {ALL: ActCount(**{span: count})})
            assert decision.verdict is verdict
        assert decision.rule == f"limit:all.per_{span}"
        assert f"the limit per {span} is 3" in decision.reason

    def test_a_rule_has_limits_of_its_own(self) -> None:
        pump = PolicyRule("pump", "*", {"pin": "pump"}, ALLOW, ActLimits(per_hour=1))
        policy = Policy(SUPERVISED, (pump,))
        assert decide_call(PUMP_ON, OWNER, policy, {ALL: ActCount(9, 9, 9)}).verdict is ALLOW
        asked = decide_call(PUMP_ON, OWNER, policy, {"pump": ActCount(hour=1)})
        assert (asked.verdict, asked.rule) == (ASK, "limit:pump.per_hour")
        lamp = GateCall("board_gpio_write", Effect.ACTUATE, {"pin": "lamp"})
        assert decide_call(lamp, OWNER, policy, {"pump": ActCount(hour=1)}).verdict is ALLOW

    def test_looking_has_none(self) -> None:
        policy = Policy(
            SUPERVISED, (PolicyRule("r", "*", {}, None, ActLimits(0, 0, 0)),), ActLimits(0, 0, 0)
        )
        assert decide_call(GateCall("x", Effect.READ), WEB, policy, {}).verdict is ALLOW

    def test_no_limit_turns_a_refusal_into_a_question(self) -> None:
        policy = Policy(READONLY, (), ActLimits(per_day=0))
        assert decide_call(PUMP_ON, OWNER, policy, {}).verdict is DENY


def test_what_is_refused_beside_the_policy_is_a_decision_too() -> None:
    assert denied("estop", "it is stopped") == Decision(DENY, "estop", "it is stopped")


@given(effects, provenances, autonomies)
def test_what_may_hurt_is_never_done_by_voice_alone(
    effect: Effect, provenance: Provenance, autonomy: Autonomy
) -> None:
    typed = decide(effect, provenance, autonomy)
    spoken = in_writing(GateCall("tool", effect), typed)
    if effect is Effect.HAZARD and typed.verdict is not DENY:
        assert (spoken.verdict, spoken.rule) == (ASK, "spoken")
        assert "in writing" in spoken.reason
        assert typed.verdict is ALLOW or typed.reason in spoken.reason
    else:
        assert spoken == typed
