import json
import sys
from pathlib import Path

import pytest

import tests.fakes
from agent.cli.main import main
from agent.tools.mcp import server as server_module
from agent.tools.mcp.offer import ToolOffer
from agent.tools.mcp.servers import pins_in

SERVER = Path(next(iter(tests.fakes.__path__))) / "mcp_server.py"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    command = json.dumps([sys.executable, str(SERVER), "painted"])
    config = tmp_path / "barnacle.toml"
    config.write_text(f'[mcp.garden]\ncommand = {command}\nread = ["forecast"]\n')
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("BARNACLE_CONFIG", str(config))
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = main(["mcp", *words])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_what_is_shown_is_what_is_approved(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, shown = said(capsys, "approve", "garden", "--tool", "painted", "--tool", "forecast")
    assert status == 0
    assert "== mcp_garden_forecast (not approved)" in shown
    assert "Tell the weather of a place." in shown
    assert '"required": ["place"]' in shown
    assert "Good[2J evil very" in shown
    assert "\x1b" not in shown
    assert "given" not in shown
    assert shown.count("it asks each time") == 2
    words = shown.splitlines()[-1].partition("barnacle mcp ")[2].split()
    wrong = said(capsys, *words[:2], "0" * 24, *words[3:])
    assert (wrong[0], "does not match" in wrong[1]) == (2, True)
    assert said(capsys, *words) == (
        0,
        "approved 2 tools of garden in their present form\n",
    )
    pins = pins_in(state / "mcp")
    assert set(pins.of("garden")) == {"painted", "forecast"}
    pins.hold([pins.of("garden")["painted"]])
    status, listed = said(capsys, "list", "--json")
    states = {one["tool"]: one["state"] for one in json.loads(listed)}
    assert status == 0
    assert states["forecast"] == "approved"
    assert states["painted"] == "changed"
    assert states["given"] == "not approved"
    assert [one for one in states.values() if one.startswith("refused")]


def test_what_was_approved_is_taken_back_without_asking_the_server(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (state / "barnacle.toml").write_text("")
    assert said(capsys, "revoke", "garden") == (0, "no tool of it was approved\n")
    pins_in(state / "mcp").approve([ToolOffer("garden", "water", "mcp_garden_water")])
    assert said(capsys, "revoke", "garden") == (0, "approval removed from 1 tools of garden\n")
    assert pins_in(state / "mcp").every() == ()


def test_a_server_that_is_away_is_said_to_be(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (state / "mcp" / "garden").mkdir(parents=True)
    (state / "mcp" / "garden" / "broken").touch()
    status, listed = said(capsys, "list")
    assert status == 1
    assert "away" in listed
    assert "no such garden" in listed


def test_nothing_configured_and_unknown_names_are_sentences(
    state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, why = said(capsys, "approve", "shed")
    assert (status, "no [mcp.shed] in the configuration: garden" in why) == (2, True)
    (state / "barnacle.toml").write_text("")
    assert said(capsys, "list") == (0, "no MCP servers configured: add a table [mcp.<name>]\n")


@pytest.mark.usefixtures("state")
def test_without_the_sdk_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module.importlib.util, "find_spec", lambda _name: None)
    status, why = said(capsys, "approve", "garden")
    assert (status, "`.venv/bin/pip install '.[mcp]'`" in why) == (1, True)
