import subprocess
import sys
from pathlib import Path

from firmware.host.scratch import PREFIX, remove_abandoned, scratch_folder
from tests.fakes.board_sim import ROOT

HOLD = """
import sys, time
from pathlib import Path
from firmware.host.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "boot.py").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_a_folder_is_gone_after_its_use(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        (folder / "boot.py").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_has_left_is_removed_and_what_is_held_is_not(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with (
        scratch_folder(tmp_path) as held,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process,
    ):
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        process.kill()
        process.wait()
        assert left.is_dir()
        with scratch_folder(tmp_path):
            assert not left.exists()
            assert held.is_dir()


def test_what_is_no_folder_of_ours_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / f"{PREFIX}unheld").mkdir()
    (tmp_path / f"{PREFIX}file").write_text("x")
    (tmp_path / "other").mkdir()
    remove_abandoned(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
