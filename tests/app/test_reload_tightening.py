import pytest

from agent.app.reload import looser_limits, tighter_limits
from agent.messages import Effect
from agent.security.policy import Autonomy, Verdict
from agent.turn.settings import AgentSettings, RuleSettings

ASK_PUMP = RuleSettings(tool="board_*", where={"pin": "pump"}, verdict=Verdict.ASK)
FEW = RuleSettings(tool="web_fetch", per_day=5)
ONE_LED = RuleSettings(where={"pin": "led"}, per_turn=1, per_hour=1, per_day=1)
USUAL = AgentSettings(rules={"pump": ASK_PUMP, "few": FEW}, presence_for=(Effect.HAZARD,))


def rules(**changed: RuleSettings | None) -> AgentSettings:
    """The usual settings with some rules changed, or taken away."""
    every = {**USUAL.rules, **changed}
    kept = {name: rule for name, rule in every.items() if rule is not None}
    return AgentSettings(rules=kept, presence_for=USUAL.presence_for)


def pump(verdict: Verdict | None, **more: object) -> RuleSettings:
    fields = {"tool": "board_*", "where": {"pin": "pump"}, "verdict": verdict, **more}
    return RuleSettings(**fields)  # type: ignore[arg-type]  # a table of fields


@pytest.mark.parametrize(
    "new",
    [
        USUAL,
        rules(pump=pump(Verdict.DENY)),
        rules(pump=pump(Verdict.ASK, per_hour=1)),
        rules(few=RuleSettings(tool="web_fetch", per_day=4)),
        rules(more=RuleSettings(tool="shell", verdict=Verdict.DENY)),
        rules(more=RuleSettings(tool="shell", per_turn=1)),
        rules(all=RuleSettings(per_turn=1, per_hour=10, per_day=100)),
    ],
)
def test_what_is_as_tight_or_tighter_asks_nobody(new: AgentSettings) -> None:
    assert looser_limits(USUAL, new) == ()


def test_less_autonomy_and_more_presence_are_tighter() -> None:
    new = AgentSettings(
        autonomy=Autonomy.READONLY,
        rules=USUAL.rules,
        presence_for=(Effect.HAZARD, Effect.EXECUTE),
    )
    assert looser_limits(USUAL, new) == ()
    assert looser_limits(new, USUAL) == ("agent.autonomy", "agent.presence_for")


@pytest.mark.parametrize(
    ("new", "key"),
    [
        (rules(pump=None), "agent.rules.pump"),
        (rules(few=None), "agent.rules.few"),
        (rules(pump=pump(Verdict.ALLOW)), "agent.rules.pump"),
        (rules(pump=pump(None, per_day=1)), "agent.rules.pump"),
        (rules(pump=RuleSettings(tool="board_x", verdict=Verdict.DENY)), "agent.rules.pump"),
        (rules(few=RuleSettings(tool="web_fetch", per_day=6)), "agent.rules.few"),
        (rules(few=RuleSettings(tool="web_fetch", per_hour=1)), "agent.rules.few"),
        (rules(more=RuleSettings(tool="shell", verdict=Verdict.ALLOW)), "agent.rules.more"),
        (rules(all=RuleSettings(per_day=1_000_000)), "agent.rules"),
        # The usual limits give way to the first, and the second bounds some calls only
        (rules(all=RuleSettings(per_day=1_000_000), led=ONE_LED), "agent.rules"),
    ],
)
def test_what_is_looser_is_named(new: AgentSettings, key: str) -> None:
    assert looser_limits(USUAL, new) == (key,)


def test_a_rule_that_allowed_may_go() -> None:
    allowing = rules(more=RuleSettings(tool="shell", verdict=Verdict.ALLOW))
    assert looser_limits(allowing, USUAL) == ()


def test_what_is_tighter_counts_beside_what_is_looser() -> None:
    new = AgentSettings(
        autonomy=Autonomy.READONLY,
        presence_for=(Effect.EXECUTE,),
        rules={
            "pump": pump(Verdict.DENY),
            "shell": RuleSettings(tool="shell", verdict=Verdict.ALLOW),
            "door": RuleSettings(tool="door", verdict=Verdict.DENY),
        },
    )
    found = tighter_limits(USUAL, new)
    assert looser_limits(USUAL, found) == ()
    assert found.autonomy is Autonomy.READONLY
    assert found.presence_for == (Effect.HAZARD, Effect.EXECUTE)
    assert found.rules == {"pump": new.rules["pump"], "door": new.rules["door"], "few": FEW}


def test_wider_limits_for_everything_do_not_hold_up_what_is_tighter() -> None:
    new = rules(all=RuleSettings(per_day=1_000_000), pump=pump(Verdict.DENY))
    assert tighter_limits(USUAL, new) == rules(pump=pump(Verdict.DENY))
    asking = RuleSettings(verdict=Verdict.ASK)
    wider = RuleSettings(verdict=Verdict.ASK, per_day=1_000_000)
    assert tighter_limits(rules(all=asking), rules(all=wider)) == rules(all=asking)


def test_what_is_only_tighter_is_taken_as_it_is() -> None:
    new = rules(pump=pump(Verdict.DENY))
    assert tighter_limits(USUAL, new) == new
