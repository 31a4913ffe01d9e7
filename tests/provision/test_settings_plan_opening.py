import tempfile
from pathlib import Path

import pytest

from agent.channels.settings import ChannelsSettings, MatrixSettings, NtfySettings
from agent.errors import ConfigRefused
from agent.provision.settings_plan import check_openable
from agent.settings import Settings


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders that are thrown away are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_what_can_be_opened_is_let_go_of_and_leaves_nothing(room: Path) -> None:
    check_openable(Settings(channels=ChannelsSettings(ntfy=NtfySettings(topic="of-mine"))), {})
    assert list(room.iterdir()) == []


def test_what_cannot_be_opened_is_refused_and_leaves_nothing(room: Path) -> None:
    with pytest.raises(ConfigRefused, match=r"channels\.matrix has no login"):
        check_openable(Settings(channels=ChannelsSettings(matrix=MatrixSettings())), {})
    assert list(room.iterdir()) == []


def test_without_room_to_try_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    check_openable(Settings(channels=ChannelsSettings(matrix=MatrixSettings())), {})
    assert "provision: platforms not tested" in caplog.text
