"""What the tests of commands share: a home in which nothing is configured."""

from pathlib import Path

import pytest

from agent.cli import places


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's own, on a machine without the service."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("BARNACLE_CONFIG", raising=False)
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    monkeypatch.setattr(places, "SYSTEM_CONFIG", tmp_path / "none.toml")
    monkeypatch.setattr(places, "UNITS", (tmp_path / "units",))
    return tmp_path
