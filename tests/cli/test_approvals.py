import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.cli import exits
from agent.cli.main import main
from agent.messages import Provenance
from agent.security.act import call_hash
from agent.security.approvals import StandingApproval, StandingApprovals
from agent.system.clock import SystemClock

PUMP, LAMP = '{"pin":"pump"}', '{"pin":"lamp"}'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    return tmp_path / "approvals.json"


def say_always(approvals: StandingApprovals, arguments: str) -> None:
    approvals.add(
        StandingApproval(
            call=call_hash("write", arguments),
            tool="write",
            arguments=arguments,
            until_s=approvals.end_s(),
            words="write with pin pump, any value, for 30 days",
        )
    )


def covers(approvals: StandingApprovals, arguments: str) -> bool:
    return approvals.covers([call_hash("write", arguments)], Provenance.OWNER)


@pytest.fixture
def standing(file: Path) -> StandingApprovals:
    """Of a running agent, which knows two of them."""
    approvals = StandingApprovals(file, SystemClock())
    for arguments in (PUMP, LAMP):
        say_always(approvals, arguments)
        assert covers(approvals, arguments)
    return approvals


def test_none_are_said_and_no_file_is_made(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approvals", "list"]) == exits.OK
    assert (
        capsys.readouterr().out
        == 'no approvals: you have not answered any question with "always"\n'
    )
    assert main(["approvals", "revoke", "--all"]) == exits.OK
    assert not file.exists()


@pytest.mark.usefixtures("standing")
def test_each_is_listed_with_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approvals", "list"]) == exits.OK
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == {
        call_hash("write", arguments)[:8] for arguments in (PUMP, LAMP)
    }
    assert all("until 20" in line and '{"pin":' in line and "any value" in line for line in lines)
    assert main(["approvals", "list", "--json"]) == exits.OK
    listed = json.loads(capsys.readouterr().out)
    assert {one["arguments"] for one in listed} == {PUMP, LAMP}
    assert {(one["words"], one["trust"]) for one in listed} == {
        ("write with pin pump, any value, for 30 days", "owner")
    }


def test_one_is_revoked_at_once_and_the_other_stays(standing: StandingApprovals) -> None:
    assert main(["approvals", "revoke", call_hash("write", PUMP)[:8]]) == exits.OK
    assert not covers(standing, PUMP)
    assert covers(standing, LAMP)


def test_all_are_revoked(standing: StandingApprovals, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approvals", "revoke", "--all"]) == exits.OK
    assert "2 revoked" in capsys.readouterr().out
    assert not covers(standing, LAMP)


@pytest.mark.parametrize("start", ["zzz", ""])
def test_what_names_none_revokes_none(
    standing: StandingApprovals, capsys: pytest.CaptureFixture[str], start: str
) -> None:
    assert main(["approvals", "revoke", start]) == exits.USAGE
    assert "no approval" in capsys.readouterr().err
    assert covers(standing, PUMP)


def test_what_names_two_revokes_none(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    approvals = StandingApprovals(file, SystemClock())
    for number in range(17):
        say_always(approvals, f'{{"n":{number}}}')
    starts = [one.call[0] for one in approvals.every()]
    twice = next(start for start in starts if starts.count(start) > 1)
    assert main(["approvals", "revoke", twice]) == exits.USAGE
    assert "more than one" in capsys.readouterr().err
    assert len(approvals.every()) == 17
