from pathlib import Path

import pytest

from agent.app.browser import probe, tools_of
from agent.app.tools import ToolParts, all_tools
from agent.config import decode
from agent.errors import ConfigRefused
from agent.machine.readings import Readings
from agent.net.http import HttpClient
from agent.security.sandbox import bubblewrap
from agent.security.web_addresses import WebRules
from agent.settings import Paths, Settings
from agent.tools.picture_program import Album
from agent.tools.settings import BrowserSettings, WebSettings
from agent.tools.web import Web
from tests.fakes.clock import SteppedClock
from tests.fakes.sandbox import no_bubblewrap
from tests.waits import PATIENCE_S

NAMES = {
    *("browser_open", "browser_read", "browser_click", "browser_type", "browser_screenshot"),
    "browser_close",
}


@pytest.fixture
def readings(tmp_path: Path) -> Readings:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 4000000 kB\nMemAvailable: 3000000 kB\n")
    return Readings(tmp_path, tmp_path)


@pytest.fixture
def program(tmp_path: Path) -> str:
    made = tmp_path / "chromium"
    made.touch()
    return str(made)


def names_with(folder: Path, wanted: BrowserSettings | None) -> set[str]:
    paths = Paths(None, folder)
    parts = (WebSettings(), paths, SteppedClock(), HttpClient(), ())
    return {tool.name for tool in all_tools(ToolParts(*parts, browser=wanted))}


def test_there_is_none_unless_the_owner_wants_one(tmp_path: Path, program: str) -> None:
    assert not NAMES & names_with(tmp_path, None)
    assert names_with(tmp_path, BrowserSettings(program=program)) >= NAMES


def test_without_a_program_there_are_no_tools(
    tmp_path: Path, readings: Readings, caplog: pytest.LogCaptureFixture
) -> None:
    wanted = BrowserSettings(program="/nowhere/chromium")
    web, album = Web(HttpClient(), WebRules()), Album(tmp_path, SteppedClock())
    assert tools_of(wanted, web, album, readings) == []
    assert "/nowhere/chromium not found" in caplog.text


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap() or "there is one")
async def test_the_doctor_says_what_would_be_started(
    readings: Readings, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "PROBE_TIMEOUT_S", PATIENCE_S)
    assert "can be started in bubblewrap" in await probe(BrowserSettings(program=program), readings)
    with pytest.raises(ConfigRefused, match="/nowhere/chromium not found"):
        await probe(BrowserSettings(program="/nowhere/chromium"), readings)


@pytest.mark.parametrize(
    "text", ['program = "chromium"', 'program = "/a b"', "memory_mb = 64", "idle_s = 3"]
)
def test_a_wrong_setting_is_refused(text: str) -> None:
    with pytest.raises(ConfigRefused, match="browser"):
        decode(f"[browser]\n{text}\n", Settings, Path("barnacle.toml"))
