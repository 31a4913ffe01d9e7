import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent.approvals import effect_counts
from agent.cli import exits
from agent.cli.main import main
from agent.messaging.journal import MIGRATIONS
from agent.security.audit import Audit, files_of
from agent.security.audit_chain import Link
from agent.storage.database import open_database
from tests.fakes.clock import SteppedClock

DECIDED = {
    "kind": "decision",
    "verdict": "ask",
    "rule": "provenance",
    "reason": "I read text from the web",
    "tool": "board_gpio_write",
    "effect": "hazard",
    "provenance": "web",
    "source": "https://example.org/pump",
    "person": "owner",
    "conversation": "terminal",
    "arguments": '{"pin":"pump"}',
}
READ = DECIDED | {"verdict": "allow", "rule": "read", "tool": "time_now", "provenance": "owner"}
EFFECT = {
    "kind": "effect",
    "tool": "board_gpio_write",
    "effect": "hazard",
    "ok": True,
    "read_back": '{"pin":"pump","value":"on"}',
}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


@pytest.fixture
def last(state: Path) -> Link:
    """A log of four rows."""
    audit = Audit(state / "audit", lambda text: text, SteppedClock())
    link = Link(0, "")
    for row in (DECIDED, READ, EFFECT):
        link = audit.append(row, durable=False)
    audit.close()
    return link


def anchored(state: Path, link: Link) -> None:
    with closing(open_database(state / "agent.db", MIGRATIONS)) as database:
        effect_counts.anchor(database, link)


class TestTail:
    def test_a_line_says_what_became_of_which_call_and_why(
        self, last: Link, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["audit", "tail"]) == exits.OK
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 4
        assert lines[1].split()[3:7] == ["ask", "web", "provenance", "board_gpio_write"]
        assert lines[3].endswith('read back   board_gpio_write  {"pin":"pump","value":"on"}')
        assert " done " in lines[3]

    @pytest.mark.parametrize(
        ("options", "numbers"),
        [
            (["--limit", "2"], [3, 4]),
            (["--verdict", "ask"], [2]),
            (["--effects"], [4]),
            (["--tool", "board_*"], [2, 4]),
            (["--tool", "time_now"], [3]),
            (["--tool", "time"], []),
            (["--provenance", "web"], [2]),
        ],
    )
    def test_filters(
        self,
        last: Link,
        capsys: pytest.CaptureFixture[str],
        options: list[str],
        numbers: list[int],
    ) -> None:
        assert main(["audit", "tail", "--json", *options]) == exits.OK
        assert [row["n"] for row in json.loads(capsys.readouterr().out)] == numbers

    @pytest.mark.usefixtures("state")
    def test_an_empty_one_is_said(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["audit", "tail"]) == exits.OK
        assert "no matching rows" in capsys.readouterr().out

    def test_what_rows_hold_does_not_reach_the_terminal_raw(
        self, state: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        audit = Audit(state / "audit", lambda text: text, SteppedClock())
        audit.append(DECIDED | {"arguments": "\x1b[2J\nallow", "rule": "\u202e"}, durable=False)
        main(["audit", "tail"])
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert len(out.splitlines()) == 2

    def test_damaged_rows_are_passed_over(
        self, state: Path, last: Link, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (path,) = files_of(state / "audit")
        path.write_bytes(path.read_bytes().replace(b'"ask"', b'"yes"'))
        assert main(["audit", "tail", "--json"]) == exits.OK
        assert [row["n"] for row in json.loads(capsys.readouterr().out)] == [1, 3, 4]


class TestVerify:
    @pytest.mark.usefixtures("state")
    def test_none_is_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["audit", "verify"]) == exits.OK
        assert "no audit log yet" in capsys.readouterr().out

    def test_a_whole_one_shows_the_row_to_note(
        self, state: Path, last: Link, capsys: pytest.CaptureFixture[str]
    ) -> None:
        anchored(state, last)
        assert main(["audit", "verify"]) == exits.OK
        out = capsys.readouterr().out
        assert f"intact: 4 rows in 1 file, up to {last}" in out
        assert "--head" in out

    def test_json(self, last: Link, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["audit", "verify", "--json"]) == exits.OK
        told = json.loads(capsys.readouterr().out)
        assert told == {"whole": True, "rows": 4, "head": str(last), "problems": []}

    def test_a_changed_one_fails_and_says_where(
        self, state: Path, last: Link, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (path,) = files_of(state / "audit")
        path.write_bytes(path.read_bytes().replace(b'"web"', b'"usr"'))
        assert main(["audit", "verify"]) == exits.FAILED
        assert f"{path.name} line 2: the line was changed" in capsys.readouterr().out

    @pytest.mark.parametrize("how", ["database", "option"])
    def test_a_missing_end_is_found_by_what_is_known_from_elsewhere(
        self, state: Path, last: Link, capsys: pytest.CaptureFixture[str], how: str
    ) -> None:
        (path,) = files_of(state / "audit")
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
        assert main(["audit", "verify"]) == exits.OK
        if how == "database":
            anchored(state, last)
            assert main(["audit", "verify"]) == exits.FAILED
        else:
            assert main(["audit", "verify", "--head", str(last)]) == exits.FAILED
        assert "the end is missing: row 4" in capsys.readouterr().out

    @pytest.mark.usefixtures("state")
    def test_a_wrong_head_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["audit", "verify", "--head", "4"]) == exits.USAGE
        assert "colon" in capsys.readouterr().err

    @pytest.mark.parametrize("content", [b"no database", b""])
    def test_a_database_that_knows_no_row_does_not_matter(
        self, state: Path, last: Link, content: bytes
    ) -> None:
        (state / "agent.db").write_bytes(content)
        assert main(["audit", "verify"]) == exits.OK
