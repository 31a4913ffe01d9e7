import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.errors import StateInUse, StorageFull
from agent.storage import lock

# Any user but root
_AGENT = 12_345
HOLD = (
    "import sys, pathlib; from agent.storage import lock\n"
    "with lock.hold(pathlib.Path(sys.argv[1])):\n"
    "    print('held', flush=True); sys.stdin.read()\n"
)


def test_a_second_agent_is_told_who_the_first_one_is(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        with pytest.raises(StateInUse, match=f"process {first.pid}"), lock.hold(tmp_path):
            pass
        first.kill()
    with lock.hold(tmp_path):
        assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_the_folder_is_made_and_closed_to_others(tmp_path: Path) -> None:
    with lock.hold(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageFull, match="cannot be used"), lock.hold(tmp_path / "file" / "x"):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lock for another user")
def test_a_lock_that_root_makes_is_the_agents(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    os.chown(state, _AGENT, _AGENT)
    with lock.hold(state), lock.locked(state / "jobs.json"):
        owners = {path.name: path.stat().st_uid for path in state.iterdir()}
    assert owners == {"lock": _AGENT, "jobs.json.lock": _AGENT}


def test_a_lock_that_nobody_keeps_ends_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "memories.json"

    def is_free() -> bool:
        with Path(f"{path}.lock").open("rb") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    kept = lock.held(path)
    assert not is_free()
    kept.close()
    assert is_free()
    lock.held(path)
    assert is_free()
