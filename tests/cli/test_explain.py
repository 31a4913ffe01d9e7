import itertools
import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import agent.approvals.gate
import agent.approvals.questions
from agent.approvals import effect_counts
from agent.cli import exits
from agent.cli.explain import remedy_of
from agent.cli.main import main
from agent.messages import Effect, Provenance
from agent.messaging.journal import MIGRATIONS
from agent.security.audit import Audit
from agent.security.policy import ActLimits, Autonomy, GateCall, Policy, PolicyRule, Verdict, decide
from agent.storage.database import open_database
from tests.fakes.clock import SteppedClock

RULES = """
[agent]
presence_for = ["erase"]
[agent.rules.pump]
tool = "board_*"
where = { pin = "pump" }
verdict = "allow"
per_hour = 2
"""
PUMP = ["explain", "board_gpio_write", "pin=pump", "value=on", "--effect", "hazard"]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    config = tmp_path / "barnacle.toml"
    config.write_text(RULES)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BARNACLE_CONFIG", str(config))
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    assert main([*words, "--json"]) == exits.OK
    said = json.loads(capsys.readouterr().out)
    assert isinstance(said, dict)
    return said


def test_the_rule_and_how_to_change_it(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, *PUMP)
    assert (said["verdict"], said["rule"]) == ("allow", "rule:pump")
    assert "[agent.rules.pump]" in said["to change"]


def test_what_was_read_changes_it(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, *PUMP, "--provenance", "web")
    assert (said["verdict"], said["rule"]) == ("ask", "provenance")


def test_what_was_done_counts(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(open_database(state / "agent.db", MIGRATIONS)) as database:
        for _ in range(2):
            effect_counts.note(database, ["", "pump"], "turn", time.time())
    assert told(capsys, *PUMP)["rule"] == "limit:pump.per_hour"


def test_where_somebody_has_to_be_there_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "explain", "memory_clear", "--effect", "erase")
    assert (said["verdict"], said["rule"]) == ("ask", "presence")


def test_a_tool_that_exists_says_itself_what_it_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "explain", "file_read", "path=7", "first_line=2")
    assert (said["effect"], said["rule"]) == ("read", "read")
    assert '"first_line": "2"' in said["call"]


def test_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(PUMP) == exits.OK
    out = capsys.readouterr().out
    assert [line.split("  ")[0] for line in out.splitlines()] == [
        "call", "effect", "provenance", "verdict", "rule", "because", "to change",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "name a tool"),
        (["file_read", "path=x", "--row", "1"], "name a tool"),
        (["file_raed"], "similar names: file_read"),
        (["file_read", "path"], "path has no =: write name=value"),
        (["file_read", "paht=x"], "paht"),
        (["--row", "1"], "no row 1"),
    ],
)
def test_what_cannot_be_explained(
    capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    assert main(["explain", *words]) == exits.USAGE
    assert complaint in capsys.readouterr().err


class TestARow:
    @pytest.fixture(autouse=True)
    def log(self, state: Path) -> None:
        audit = Audit(state / "audit", lambda text: text, SteppedClock())
        decided = {"kind": "decision", "verdict": "deny", "rule": "estop", "tool": "lamp"}
        audit.append(decided | {"source": "https://example.org"}, durable=False)
        audit.append({"kind": "effect", "tool": "lamp"}, durable=False)
        audit.close()

    def test_its_rule_is_explained(self, capsys: pytest.CaptureFixture[str]) -> None:
        said = told(capsys, "explain", "--row", "2")
        assert (said["verdict"], said["rule"]) == ("deny", "estop")
        assert said["source"] == "https://example.org"
        assert "estop --clear" in said["to change"]

    def test_a_row_that_is_no_decision_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "--row", "3"]) == exits.USAGE
        assert "no decision but of kind effect" in capsys.readouterr().err


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
