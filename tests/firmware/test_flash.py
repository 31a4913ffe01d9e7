import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from firmware.host import flash, interpreter, prompt
from firmware.host.bundle import BundledFile
from firmware.host.image import image, installed
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.flash import NativeFlash
from tests.firmware.update_on_cpython import board_with

PORT = "/dev/ttyBOARD"


class FolderBoard:
    """In mpremote's place: a folder is the board's flash, MicroPython runs what is executed."""

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
            command = [*interpreter.find(), "-c", words[1]]
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


class ForgetfulBoard(FolderBoard):
    """Loses the end of every file that it is given."""

    def _copy(self, sources: list[str], target: str) -> None:
        super()._copy(sources, target)
        for source in sources:
            path = self.flash / target.removeprefix(":") / Path(source).name
            path.write_bytes(path.read_bytes()[:-1])


@pytest.fixture
def files() -> list[BundledFile]:
    if reason := unavailable_reason():
        pytest.skip(reason)
    return installed("nucleo_f411re")


def test_every_file_arrives_and_what_was_there_before_is_gone(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    (tmp_path / "node" / "devices").mkdir(parents=True)
    for left_over in ("node/session.py", "node/older.mpy", "frame.py", "description.py"):
        (tmp_path / left_over).write_text("left over")
    (tmp_path / "mine.py").write_text("not ours to remove")
    flash.copy(files, PORT, FolderBoard(tmp_path))
    there = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert there == {file.target for file in files} | {"mine.py"}
    for file in files:
        assert (tmp_path / file.target).read_bytes() == file.content


def test_flashing_twice_is_flashing_once(tmp_path: Path, files: list[BundledFile]) -> None:
    board = FolderBoard(tmp_path)
    flash.copy(files, PORT, board)
    flash.copy(files, PORT, board)
    flash.verify(files, PORT, board)
    flash.restart(PORT, board)
    assert board.resets == 1


def test_what_did_not_arrive_whole_is_named(tmp_path: Path, files: list[BundledFile]) -> None:
    with pytest.raises(flash.FlashFailed, match=r"not as sent: .*slot_a"):
        flash.copy(files, PORT, ForgetfulBoard(tmp_path))


def test_a_copy_that_is_cut_short_leaves_a_board_that_starts_nothing(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    (tmp_path / "main.py").write_text("the old firmware")
    board = FolderBoard(tmp_path)

    def cut(arguments: Sequence[str]) -> str:
        if "cp" in arguments:
            raise flash.FlashFailed("cable")
        return board(arguments)

    with pytest.raises(flash.FlashFailed, match="cable"):
        flash.copy(files, PORT, cut)
    assert not (tmp_path / "main.py").exists()


def test_the_listing_has_hash_size_and_path(files: list[BundledFile]) -> None:
    lines = flash.listing(files)
    assert len(lines) == len(files)
    for line, file in zip(lines, files, strict=True):
        assert line.split() == [flash.digest(file), str(len(file.content)), file.target]


def test_mpremote_s_own_words_reach_the_person() -> None:
    with pytest.raises(flash.FlashFailed, match="mpremote: "):
        flash.mpremote(["connect", "/dev/no-such-port", "resume", "exec", "1"])


def test_a_port_without_a_prompt_is_given_up_with_a_hint(tmp_path: Path) -> None:
    hints: list[str] = []
    with pytest.raises(prompt.NoPrompt, match="no MicroPython prompt"):
        prompt.reach(str(tmp_path / "no-port"), hints.append, limit_s=1.8)
    assert len(hints) == 1


def test_what_is_flashed_is_started_and_on_no_trial(
    tmp_path: Path, files: list[BundledFile]
) -> None:
    flash.copy(files, PORT, FolderBoard(tmp_path))
    with board_with(NativeFlash()) as board:
        store = board.slots.Files(str(tmp_path))
        assert board.slots.choose(store) == (0, False)
        about = json.loads(board.slots.Image(store, 0).open("about.json", "rb").read())
        assert about["board"] == "nucleo-f411re"


@pytest.mark.parametrize(
    ("board", "files_kb", "holds_two"),
    [
        ("nucleo_f401re", 64, False),
        ("nucleo_f411re", 64, False),
        ("nucleo_f446re", 64, False),
        ("pyboard_v11", 112, True),
        ("nucleo_wb55", 256, True),
    ],
)
def test_two_versions_fit_where_the_readme_says_so(
    board: str, files_kb: int, *, holds_two: bool
) -> None:
    # A tenth is for boot.py and its like, and for what the file system needs itself
    assert (2 * len(image(board)) < files_kb * 1024 * 0.9) is holds_two
