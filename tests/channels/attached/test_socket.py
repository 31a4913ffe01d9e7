import socket
import stat
from pathlib import Path

import pytest

from agent.channels.attached.socket import NAME, connected, listening, socket_path
from agent.errors import ChannelRefused, ChannelUnavailable


def test_it_is_with_the_state_unless_systemd_gave_a_folder(tmp_path: Path) -> None:
    assert socket_path({}, tmp_path) == tmp_path / NAME
    given = {"RUNTIME_DIRECTORY": "/run/barnacle:/run/more"}
    assert socket_path(given, tmp_path) == Path("/run/barnacle") / NAME


def test_it_is_there_for_its_owner_while_somebody_listens(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with listening(path, tmp_path):
        assert stat.S_IMODE(path.stat().st_mode) & 0o007 == 0
        connected(path).close()
    assert not path.exists()
    with pytest.raises(ChannelUnavailable, match="no agent is running"):
        connected(path)


def test_it_is_found_from_the_state_too(tmp_path: Path) -> None:
    state, runtime = tmp_path / "state", tmp_path / "run"
    state.mkdir()
    runtime.mkdir()
    for _ in range(2):
        with listening(runtime / NAME, state):
            connected(state / NAME).close()
        assert not (state / NAME).is_symlink()
    # Without systemd what it left is no hindrance
    (state / NAME).symlink_to(runtime / NAME)
    with listening(state / NAME, state):
        connected(state / NAME).close()


def test_what_a_dead_agent_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / NAME
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with pytest.raises(ChannelUnavailable):
        connected(path)
    with listening(path, tmp_path):
        connected(path).close()


def test_a_folder_with_a_name_of_any_length_will_do(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 50)
    folder.mkdir()
    with listening(folder / NAME, folder):
        connected(folder / NAME).close()


def test_a_file_of_somebody_elses_stays(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text("precious")
    with pytest.raises(ChannelRefused, match="something else is there"), listening(path, tmp_path):
        pass
    assert path.read_text() == "precious"


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(ChannelRefused, match="cannot open the socket"),
        listening(tmp_path / "none" / NAME, tmp_path),
    ):
        pass
