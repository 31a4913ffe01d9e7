from pathlib import Path

import pytest

from agent.channels.credentials import find_credential, find_secret
from agent.config import Secret
from agent.errors import ConfigRefused


@pytest.fixture
def handed(tmp_path: Path) -> Path:
    folder = tmp_path / "handed"
    folder.mkdir()
    return folder


def _found(handed: Path, given: str = "", file: str = "", **environ: str) -> str:
    told = {"CREDENTIALS_DIRECTORY": str(handed), **environ}
    return find_secret("irc_password", Secret(given), file, told).reveal()


def test_what_is_said_goes_before_what_is_handed_over(handed: Path, tmp_path: Path) -> None:
    (handed / "barnacle.irc_password").write_text("of-systemd\n")
    (tmp_path / "file").write_text("of-file\n")
    assert _found(handed) == "of-systemd"
    assert _found(handed, BARNACLE_IRC_PASSWORD="of-environment") == "of-environment"
    assert _found(handed, "", str(tmp_path / "file"), BARNACLE_IRC_PASSWORD="x") == "of-file"
    assert _found(handed, "of-table", str(tmp_path / "file")) == "of-table"


def test_a_drop_in_may_name_it_without_what_all_of_ours_begin_with(handed: Path) -> None:
    (handed / "irc_password").write_text("of-drop-in")
    assert _found(handed) == "of-drop-in"
    (handed / "barnacle.irc_password").write_text("of-unit")
    assert _found(handed) == "of-unit"


def test_nothing_is_found_where_nothing_is(handed: Path) -> None:
    assert _found(handed) == ""
    assert _found(handed / "nowhere") == ""
    assert not find_credential("irc_password", {})


@pytest.mark.parametrize("name", ["folder", "nowhere"])
def test_a_file_that_is_named_has_to_be_there(handed: Path, name: str) -> None:
    (handed / "folder").mkdir()
    with pytest.raises(ConfigRefused, match=f"cannot read .*{name}"):
        _found(handed, file=str(handed / name))


def test_what_is_no_line_is_refused_and_not_shown(handed: Path) -> None:
    (handed / "barnacle.irc_password").write_text("of\nsystemd")
    with pytest.raises(ConfigRefused, match="must hold one line") as refused:
        _found(handed)
    assert "systemd" not in str(refused.value)
