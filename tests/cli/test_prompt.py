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


@pytest.fixture
def identity(state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = state / "b.toml"
    config.write_text('[agent]\nidentity = "me.json"\n')
    monkeypatch.setenv("BARNACLE_CONFIG", str(config))
    return state / "workspace" / "me.json"


def test_an_identity_is_shown_and_approved_like_the_others(
    identity: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "me.json is not in the workspace (agent.identity)" in said(capsys)[1]
    identity.write_text('{"identity": {"names": {"first": "Ada", "aura": 1}}}')
    (identity.parent / "IDENTITY.md").write_text("Otto.")
    assert "me.json is left out until you approve it" in said(capsys)[1]
    shown = said(capsys, "show", "me.json")[1]
    assert "- Names: first: Ada" in shown
    assert "== $.identity.names.aura is not known to AIEOS 1.x and left out" in shown
    digest = shown.split()[-1]
    assert said(capsys, "approve", "me.json", "0" * 24)[0] == 2
    assert said(capsys, "approve", "me.json", digest)[0] == 0
    approved = said(capsys)[1]
    assert "### me.json" in approved
    assert "IDENTITY.md is left out until you approve it" in approved
    digest = said(capsys, "show", "IDENTITY.md")[1].split()[-1]
    assert said(capsys, "approve", "IDENTITY.md", digest)[0] == 0
    both = said(capsys)[1]
    assert "IDENTITY.md is left out: me.json counts instead (agent.identity)" in both
    assert "Otto." not in both
    assert "removed from the prompt" in said(capsys, "revoke", "me.json")[1]
    assert "Otto." in said(capsys)[1]


def test_an_invalid_identity_is_neither_shown_nor_approved(
    identity: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    identity.write_text('{"identity": {"names": {"first": 7, "last": 8}}}')
    for words in (("show", "me.json"), ("approve", "me.json", "0" * 64)):
        status, why = said(capsys, *words)
        assert status == 2
        assert "me.json: $.identity.names.first: must be a text, not 7\n" in why
        assert "me.json: $.identity.names.last: must be a text, not 8\n" in why
    assert "me.json is left out, it is invalid: $.identity.names.first" in said(capsys)[1]


@pytest.mark.parametrize("name", ["../me.json", "/etc/me.json", "me.md", "a/b.json", ".json", "x"])
def test_an_identity_is_a_json_file_of_the_workspace(
    state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    config = state / "b.toml"
    config.write_text(f'[agent]\nidentity = "{name}"\n')
    monkeypatch.setenv("BARNACLE_CONFIG", str(config))
    status, why = said(capsys)
    assert status == 2
    assert "`agent.identity`: must be a file of the workspace that ends in .json" in why
