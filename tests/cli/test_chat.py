from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.app import run as app_run
from agent.cli import exits
from agent.cli.main import main
from agent.settings import Paths, Settings


@dataclass
class RecordingApp:
    """Remembers how it was started, and ends at once."""

    status: int = 0
    started: list[tuple[str, Settings, Paths, bool]] = field(default_factory=list)

    async def chat(self, settings: Settings, paths: Paths, *, plain: bool) -> int:
        self.started.append(("chat", settings, paths, plain))
        return self.status

    async def run(self, settings: Settings, paths: Paths) -> int:
        self.started.append(("run", settings, paths, False))
        return self.status


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordingApp:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "b.toml").write_text('[agent]\nname = "Otto"\n')
    monkeypatch.setenv("BARNACLE_CONFIG", str(tmp_path / "b.toml"))
    recording = RecordingApp()
    monkeypatch.setattr(app_run, "chat", recording.chat)
    monkeypatch.setattr(app_run, "run", recording.run)
    return recording


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (["chat"], ("chat", False)),
        (["chat", "--plain"], ("chat", True)),
        (["run"], ("run", False)),
    ],
)
def test_the_agent_gets_its_settings_and_paths(
    words: list[str], started: tuple[str, bool], app: RecordingApp, tmp_path: Path
) -> None:
    assert main(words) == exits.OK
    ((name, settings, paths, plain),) = app.started
    assert (name, plain) == started
    assert settings.agent.name == "Otto"
    assert paths.state_dir == tmp_path / "state"


def test_the_agents_exit_status_is_the_commands(app: RecordingApp) -> None:
    app.status = 1
    assert main(["run"]) == exits.FAILED


def test_nothing_starts_with_a_configuration_that_is_refused(
    app: RecordingApp, tmp_path: Path
) -> None:
    (tmp_path / "b.toml").write_text("[agent]\nnaem = 1\n")
    assert main(["chat"]) == exits.USAGE
    assert app.started == []
