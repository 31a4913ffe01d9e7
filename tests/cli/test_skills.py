import json
from pathlib import Path

import pytest

from agent.cli.main import main
from tests.fakes.skill_folders import put


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["skills", *words])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_a_skill_is_approved_by_the_hash_of_what_was_shown(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(state / "workspace" / "skills", body="Water\u00a0it.\n")
    _, shown = said(capsys, "show", "watering")
    assert "Water<U+00A0>it." in shown
    digest = shown.split()[-1]
    assert "not approved" in said(capsys, "list")[1]
    status, wrong = said(capsys, "approve", "watering", "0" * 12)
    assert (status, "this hash does not match" in wrong) == (2, True)
    assert said(capsys, "approve", "watering", digest[:4])[0] == 2
    assert said(capsys, "approve", "watering", digest)[0] == 0
    assert json.loads(said(capsys, "list", "--json")[1])[0]["state"] == "approved"
    put(state / "workspace" / "skills", body="Open the door.\n")
    assert "changed" in said(capsys, "list")[1]
    assert said(capsys, "approve", "watering", digest)[0] == 2
    assert "revoked" in said(capsys, "revoke", "watering")[1]
    assert "was not approved" in said(capsys, "revoke", "watering")[1]


def test_what_is_refused_or_absent_cannot_be_approved(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no skills" in said(capsys, "list")[1]
    (put(state / "workspace" / "skills") / "run.sh").touch()
    assert "refused: run.sh" in said(capsys, "list")[1]
    for words in (("show", "watering"), ("approve", "watering", "0" * 64)):
        status, why = said(capsys, *words)
        assert (status, "refused: run.sh" in why) == (2, True)
    assert "no skill named" in said(capsys, "show", "none")[1]
