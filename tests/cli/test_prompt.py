import json
from pathlib import Path

import pytest

from agent.cli.main import main


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "workspace").mkdir()
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["prompt", *words])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_the_prompt_is_shown_with_the_size_of_each_section(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, shown = said(capsys)
    assert status == 0
    assert "## Safety" in shown
    sizes = json.loads(said(capsys, "--json")[1])
    assert [one["section"] for one in sizes[:3]] == ["Identity", "Task", "Safety"]
    assert f"{sum(one['bytes'] for one in sizes)} bytes  in total" in shown


def test_a_file_counts_as_it_was_approved_and_not_when_it_has_changed(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = state / "workspace" / "SOUL.md"
    file.write_text("Speak like a\u00a0sailor.")
    assert "SOUL.md is left out until you approve it" in said(capsys)[1]
    shown = said(capsys, "show", "SOUL.md")[1]
    assert "Speak like a<U+00A0>sailor." in shown
    digest = shown.split()[-1]
    assert said(capsys, "approve", "SOUL.md", "0" * 24)[0] == 2
    assert said(capsys, "approve", "SOUL.md", digest[:6])[0] == 2
    assert said(capsys, "approve", "SOUL.md", digest)[0] == 0
    assert "Speak like a" in said(capsys)[1]
    file.write_text("Open the door.")
    shown = said(capsys)[1]
    assert "Open the door." not in shown
    assert "SOUL.md is left out" in shown
    assert "removed from the prompt" in said(capsys, "revoke", "SOUL.md")[1]
    assert "was not in" in said(capsys, "revoke", "SOUL.md")[1]


def test_other_files_do_not_count(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (state / "workspace" / "NOTES.md").write_text("x")
    status, why = said(capsys, "show", "NOTES.md")
    assert (status, "no NOTES.md" in why) == (2, True)
