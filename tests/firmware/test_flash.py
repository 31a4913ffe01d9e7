import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.blank.board_state import OWN_FILES, FlashState, SlotPlace, Unsuitable
from agent.blank.copying import format_program
from firmware.host import flash, interpreter, prompt
from firmware.host.bundle import FIRMWARE, BundledFile
from firmware.host.flash_command import _require_rights
from firmware.host.image import image, installed
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.flash import NativeFlash
from tests.firmware.update_on_cpython import board_with

PORT = "/dev/ttyBOARD"


class FolderBoard:
    """In mpremote's place: a folder is the board's flash, MicroPython runs what is executed."""

    # For the interpreter
    options: tuple[str, ...] = ()

    def __init__(self, flash_folder: Path) -> None:
        self.flash = flash_folder
        self.resets = 0

    def __call__(self, arguments: Sequence[str]) -> str:
        assert list(arguments[:3]) == ["connect", PORT, "resume"]
        words = list(arguments[3:])
        if words == ["reset"]:
            self.resets += 1
            return ""
        if words[0] == "exec":
            command = [*interpreter.find(), *self.options, "-c", words[1]]
            done = subprocess.run(
                command, cwd=self.flash, capture_output=True, text=True, check=True
            )
            return done.stdout
        while words:
            end = words.index("+") if "+" in words else len(words)
            self._copy(words[2 : end - 1], words[end - 1])
            words = words[end + 1 :]
        return ""

    def _copy(self, sources: list[str], target: str) -> None:
        for source in sources:
            shutil.copy(source, self.flash / target.removeprefix(":") / Path(source).name)


class NarrowBoard(FolderBoard):
    """Has the memory of an F401."""

    options = ("-X", "heapsize=60k")


class FullBoard(FolderBoard):
    """Has so many free blocks of 512 bytes, and what our own files take."""

    def __init__(self, flash_folder: Path, free_blocks: int) -> None:
        super().__init__(flash_folder)
        self.answers: dict[str, Any] = {"free_blocks": free_blocks, "block_bytes": 512}

    def __call__(self, arguments: Sequence[str]) -> str:
        said = super().__call__(arguments)
        if not said.startswith("{"):
            return said
        # In blocks of a FAT, and not of this computer
        paths = (self.flash / name for name in OWN_FILES)
        own = sum(-(-path.stat().st_size // 512) for path in paths if path.exists())
        return json.dumps({**json.loads(said), "own_blocks": own, **self.answers})


class ForgetfulBoard(FolderBoard):
    """Loses the end of every file that it is given."""

    def _copy(self, sources: list[str], target: str) -> None:
        super()._copy(sources, target)
        for source in sources:
            path = self.flash / target.removeprefix(":") / Path(source).name
            path.write_bytes(path.read_bytes()[:-1])


def put(files: Sequence[BundledFile], board: FolderBoard) -> None:
    """What `scripts/flash` does at the prompt."""
    found = flash.state(PORT, board)
    found.require_room("nucleo_f411re", files)
    flash.copy(files, PORT, found, board)


def contents(folder: Path) -> Mapping[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture
def files() -> list[BundledFile]:
    if reason := unavailable_reason():
        pytest.skip(reason)
    return installed("nucleo_f411re", SlotPlace.FILES)


def test_every_file_arrives_and_what_was_there_before_is_gone(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    (tmp_path / "node" / "devices").mkdir(parents=True)
    for left_over in ("node/session.py", "node/older.mpy", "frame.py", "description.py"):
        (tmp_path / left_over).write_text("left over")
    (tmp_path / "mine.py").write_text("not ours to remove")
    put(files, FolderBoard(tmp_path))
    there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert there == {file.target for file in files} | {"mine.py"}
    for file in files:
        assert (tmp_path / file.target).read_bytes() == file.content


def test_flashing_twice_is_flashing_once(tmp_path: Path, files: list[BundledFile]) -> None:
    board = FullBoard(tmp_path, free_blocks=120)
    put(files, board)
    board.answers["free_blocks"] = 30
    put(files, board)
    assert contents(tmp_path) == {file.target: file.content for file in files}
    flash.restart(PORT, board)
    assert board.resets == 1


def test_what_did_not_arrive_whole_is_named(tmp_path: Path, files: list[BundledFile]) -> None:
    with pytest.raises(flash.FlashFailed, match=r"not as sent: .*slot_a"):
        put(files, ForgetfulBoard(tmp_path))


class CutBoard(FullBoard):
    """Its cable comes out before one of the steps, counted from 0."""

    def __init__(self, flash_folder: Path, free_blocks: int, step: int) -> None:
        super().__init__(flash_folder, free_blocks)
        self.left = step

    def __call__(self, arguments: Sequence[str]) -> str:
        if not self.left:
            raise flash.FlashFailed("cable")
        self.left -= 1
        return super().__call__(arguments)


@pytest.mark.parametrize("step", range(2, 5))
def test_without_room_beside_a_cut_copy_leaves_a_board_that_starts_nothing(
    tmp_path: Path, files: list[BundledFile], step: int
) -> None:
    put(files, FolderBoard(tmp_path))
    with pytest.raises(flash.FlashFailed, match="cable"):
        put(files, CutBoard(tmp_path, 30, step))
    assert (tmp_path / "main.py").exists() == (step == 4)
    # And it can be mended
    put(files, FullBoard(tmp_path, 120))
    assert started(tmp_path) is not None


@pytest.mark.parametrize("step", range(1, 6))
def test_beside_the_old_version_a_cut_copy_leaves_a_board_that_starts(
    tmp_path: Path, files: list[BundledFile], step: int
) -> None:
    put(files, FolderBoard(tmp_path))
    with pytest.raises(flash.FlashFailed, match="cable"):
        put(files, CutBoard(tmp_path, 200, step))
    for name in ("boot.py", "main.py", "slots.mpy", "slot_a"):
        assert (tmp_path / name).exists()
    # The new one takes over as soon as it is there as a whole
    assert started(tmp_path) == ("slot_b" if step > 1 else "slot_a")


def test_what_arrived_damaged_beside_the_old_version_is_not_started(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    put(files, FolderBoard(tmp_path))
    with pytest.raises(flash.FlashFailed, match=r"not as sent: .*slot_b"):
        put(files, ForgetfulBoard(tmp_path))
    assert started(tmp_path) == "slot_a"


def test_the_slot_that_runs_is_never_written(tmp_path: Path, files: list[BundledFile]) -> None:
    board = FolderBoard(tmp_path)
    ran = []
    for _ in range(4):
        put(files, board)
        ran.append(started(tmp_path))
    assert ran == ["slot_a", "slot_b", "slot_a", "slot_b"]


def started(folder: Path) -> str | None:
    with board_with(NativeFlash()) as board:
        at, _ = board.slots.choose(board.slots.Files(str(folder)))
    return None if at is None else ("slot_a", "slot_b")[at]


def is_refused(files: list[BundledFile], board: FolderBoard, why: str) -> None:
    before = contents(board.flash)
    with pytest.raises(Unsuitable, match=why):
        put(files, board)
    assert contents(board.flash) == before


def test_a_board_with_too_little_memory_is_refused_and_keeps_all(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    (tmp_path / "main.py").write_text("the old firmware")
    is_refused(files, NarrowBoard(tmp_path), "bytes of memory for Python.*frozen")


def test_a_board_without_the_room_is_refused_and_keeps_all(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    (tmp_path / "main.py").write_text("the old firmware")
    is_refused(files, FullBoard(tmp_path, 60), "blocks of 512 bytes, and 61 are there")


def test_files_of_somebody_else_are_named_and_not_formatted_away(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    (tmp_path / "mine.py").write_text("not ours to remove")
    board = FullBoard(tmp_path, 60)
    board.answers["flash_blocks"] = 128
    is_refused(files, board, "of your own from it .there are mine.py.")


# A board whose slots are files
FILES_STATE = FlashState((1, 28), 6, 92_288, 512, 92, 0, (0, 0))
FORMATTED = """
import os, sys, vfs
import flash
part = {"sectors": [32] * 4, "erase_ms": [0] * 4, "program_ms": 0}
with open("format") as file:
    said = file.read()
made = flash.Flash(sys.argv[1], part, lambda _level: 0)
class pyb:
    Flash = lambda **_where: made
sys.modules["pyb"] = pyb
vfs.VfsFat.mkfs(made)
vfs.mount(made, "/flash")
os.chdir("/flash")
print(os.statvfs("")[3])
exec(said)
print(os.statvfs("")[3])
names = ["configuration_%d.bin" % at for at in range(8)]
for name in names:
    with open(name, "wb") as file:
        file.write(name.encode() * 200)
os.chdir("/")
vfs.umount("/flash")
vfs.mount(flash.Flash(sys.argv[1], part, None), "/flash")
print(len(os.listdir("/flash")))
with open("/flash/" + names[7], "rb") as file:
    print(file.read() == names[7].encode() * 200)
"""


def test_a_format_of_our_own_has_room_for_the_firmware_and_a_sector_behind_it(
    tmp_path: Path,
) -> None:
    simulator = FIRMWARE / "simulator"
    (tmp_path / "program.py").write_text(FORMATTED)
    (tmp_path / "format").write_text(format_program(FILES_STATE))
    said = subprocess.check_output(
        [*interpreter.find(), "program.py", str(tmp_path / "part")],
        cwd=tmp_path,
        text=True,
        env={**os.environ, "MICROPYPATH": f"{simulator / 'cuts'}:{simulator}"},
    )
    assert said.split() == ["94", "92", "8", "True"]


class NewBoard(FullBoard):
    """Has MicroPython's file system, which is too small, and can be formatted."""

    formatted = 0

    def __call__(self, arguments: Sequence[str]) -> str:
        if list(arguments[3:]) == ["exec", format_program(FILES_STATE)]:
            self.formatted += 1
            for path in self.flash.iterdir():
                path.unlink()
            return ""
        return super().__call__(arguments)


def test_a_board_with_too_little_room_is_formatted_anew(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    (tmp_path / "README.txt").write_text("MicroPython's own")
    board = NewBoard(tmp_path, 92)
    board.answers["flash_blocks"] = 128
    put(files, board)
    assert board.formatted == 1
    assert contents(tmp_path) == {file.target: file.content for file in files}


@pytest.mark.parametrize("answers", [{"version": [1, 23]}, {"mpy": 5}])
def test_a_micropython_that_is_too_old_is_refused(
    tmp_path: Path, files: list[BundledFile], answers: dict[str, Any]
) -> None:
    board = FullBoard(tmp_path, 120)
    board.answers |= answers
    is_refused(files, board, "or newer onto it")


def test_an_answer_that_is_none_is_quoted() -> None:
    with pytest.raises(Unsuitable, match="MemoryError"):
        flash.state(PORT, lambda _arguments: "MemoryError: \n")


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [((0, 0), ("slot_a", 1)), ((1, 0), ("slot_b", 2)), ((3, 4), ("slot_a", 5))],
)
def test_the_next_slot_is_the_one_that_does_not_run(
    numbers: tuple[int, int], wanted: tuple[str, int]
) -> None:
    assert FlashState((1, 26), 6, 90_000, 512, 9, 9, numbers).next_slot() == wanted


def test_a_port_that_one_may_not_use_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = tmp_path / "ttyACM0"
    port.touch()
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != port)
    with pytest.raises(flash.FlashFailed, match=r"you may not use .*ttyACM0.*dialout"):
        _require_rights(str(port))


def test_the_listing_has_hash_size_and_path(files: list[BundledFile]) -> None:
    lines = flash.listing(files)
    assert len(lines) == len(files)
    for line, file in zip(lines, files, strict=True):
        assert line.split() == [flash.digest(file), str(len(file.content)), file.target]


def test_mpremote_s_own_words_reach_the_person() -> None:
    with pytest.raises(flash.FlashFailed, match="mpremote: "):
        flash.mpremote(["connect", "/dev/no-such-port", "resume", "exec", "1"])


def test_a_name_that_windows_wrote_onto_the_board_s_drive_is_no_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nprintf '[\"\\232bung.txt\"]'\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    assert flash.mpremote([]) == '["\ufffdbung.txt"]'


def test_a_port_without_a_prompt_is_given_up_with_a_hint(tmp_path: Path) -> None:
    hints: list[str] = []
    with pytest.raises(prompt.NoPrompt, match="no MicroPython prompt"):
        prompt.reach(str(tmp_path / "no-port"), hints.append, limit_s=1.8)
    assert len(hints) == 1


def test_what_is_flashed_is_started_and_on_no_trial(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    put(files, FolderBoard(tmp_path))
    with board_with(NativeFlash()) as board:
        store = board.slots.Files(str(tmp_path))
        assert board.slots.choose(store) == (0, False)
        about = json.loads(board.slots.Image(store, 0).open("about.json", "rb").read())
        assert about["board"] == "nucleo-f411re"


@pytest.mark.parametrize(
    ("board", "slot_bytes"),
    [
        ("nucleo_f401re", 61_440),
        ("nucleo_f411re", 61_440),
        ("nucleo_f446re", 61_440),
        ("weact_blackpill_f411", 61_440),
        ("nucleo_wb55", 106_496),
    ],
)
def test_a_slot_has_a_quarter_to_spare(board: str, slot_bytes: int) -> None:
    assert len(image(board)) + 256 < slot_bytes * 3 // 4


def test_the_largest_version_that_a_pyboard_can_have_fits_into_either_slot() -> None:
    assert len(image("pyboard_v11")) + 256 < 61_440
