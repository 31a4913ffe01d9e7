from pathlib import Path

import pytest

from agent.config import decode
from agent.errors import ConfigRefused
from agent.security.policy import ActLimits, Autonomy, Policy, PolicyRule, Verdict
from agent.settings import Settings
from agent.turn.settings import USUAL_LIMITS, AgentSettings, RuleSettings


def policy_of(text: str) -> Policy:
    return decode(text, Settings, Path("x.toml")).agent.policy


def test_without_rules_the_usual_limits_hold() -> None:
    assert AgentSettings().policy == Policy(Autonomy.SUPERVISED, (), USUAL_LIMITS)


def test_a_rule_of_the_configuration_becomes_one_of_the_policy() -> None:
    policy = policy_of("""
        [agent]
        autonomy = "full"
        [agent.rules.pump]
        tool = "board_*"
        where = { pin = "pump" }
        verdict = "ask"
        per_hour = 6
    """)
    rule = PolicyRule("pump", "board_*", {"pin": "pump"}, Verdict.ASK, ActLimits(per_hour=6))
    assert policy == Policy(Autonomy.FULL, (rule,), USUAL_LIMITS)


def test_limits_for_every_tool_take_the_place_of_the_usual_ones() -> None:
    assert policy_of("[agent.rules.all]\nper_day = 9000").limits == ActLimits()


@pytest.mark.parametrize(
    "rule", ['verdict = "ask"', 'tool = "file_*"\nper_day = 1', 'per_day = 1\nwhere = {a = "b"}']
)
def test_other_rules_do_not(rule: str) -> None:
    assert policy_of(f"[agent.rules.mine]\n{rule}").limits == USUAL_LIMITS


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (
            "",
            "`agent.rules.mine.verdict`: or a limit (per_turn, per_hour, per_day) has to be given",
        ),
        ('tool = "lamp"', "has to be given"),
        ('verdict = "maybe"', "must be one of allow, ask, deny"),
        ("per_hour = -1", "`agent.rules.mine.per_hour`: must be"),
        ("per_week = 1", "`agent.rules.mine.per_week`: unknown key; did you mean"),
        ('verdict = "ask"\nwhere = { pin = 3 }', "`agent.rules.mine.where.pin`: must be text"),
        ('verdict = "ask"\ntool = ""', "`agent.rules.mine.tool`: must be"),
    ],
)
def test_a_wrong_rule_is_refused_by_its_name(rule: str, complaint: str) -> None:
    with pytest.raises(ConfigRefused) as caught:
        policy_of(f"[agent.rules.mine]\n{rule}")
    assert complaint in str(caught.value)


def test_a_rule_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="has to be given"):
        RuleSettings(tool="lamp")


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("", "."),
        ("diary/", "diary"),
        ("./diary/*", "diary/*"),
        ("*", "*"),
        ("/etc/*", "/etc/*"),
        ("//etc/*", "/etc/*"),
    ],
)
def test_a_rule_s_path_is_spelled_as_those_of_calls_are(told: str, meant: str) -> None:
    where = f'tool = "file_read"\nwhere = {{ path = "{told}" }}\nverdict = "deny"\n'
    words = f"[agent.rules.private]\n{where}"
    [rule] = policy_of(words).rules
    assert rule.where == {"path": meant}


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("https://a.org//%70rivate/*", "https://a.org/private/*"),
        ("*://*.a.org/a/../b?c", "*://*.a.org/b?c"),
        ("https://a.org*", "https://a.org*"),
        ("HTTPS://A.org:443/b*", "https://a.org/b*"),
        ("https://a.org", "https://a.org/"),
        ("https://a.org?b*", "https://a.org/?b*"),
        ("*", "*"),
    ],
)
def test_a_rule_s_url_is_spelled_as_those_of_calls_are(told: str, meant: str) -> None:
    where = f'tool = "web_fetch"\nwhere = {{ url = "{told}" }}\nverdict = "deny"\n'
    [rule] = policy_of(f"[agent.rules.private]\n{where}").rules
    assert rule.where == {"url": meant}
