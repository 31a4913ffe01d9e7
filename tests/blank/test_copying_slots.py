"""The Pi's own way onto boards whose versions are no files: on the model of each board's flash."""

import asyncio
import json
from pathlib import Path
from typing import cast

import pytest

from agent.blank import copying
from agent.blank.board_state import FlashState, Unsuitable
from agent.blank.carried import CarriedBoard, carried_boards
from agent.link.prompt import Prompt
from firmware.host import flash
from firmware.host.image import image, installed, start_archive
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.chip_board import ChipBoard

pytestmark = pytest.mark.skipif(bool(unavailable_reason()), reason=str(unavailable_reason()))

STARTED = """
import json, slots
store = slots.open_store()
at = slots.choose(store)[0]
about = at is not None and json.loads(slots.Image(store, at).open("about.json", "rb").read())
print(json.dumps([at, about and about["board"], sorted(os.listdir())]))
"""


FILL = """
size = 512 * os.statvfs("")[3]
with open("log.txt", "w") as file:
    file.write("x" * size)
"""


class CableOut(Exception):
    """The cable is pulled out here."""


class ChipPrompt:
    """A prompt at which programs run one by one; what they import is there for the next one."""

    def __init__(self, board: ChipBoard, steps: int = -1) -> None:
        self._board = board
        self._imported = ""
        self._writing = ""
        # Programs until the cable comes out; negative: it does not
        self._steps_left = steps

    async def run(self, program: str) -> str:
        if self._steps_left == 0:
            raise CableOut
        self._steps_left -= 1
        if self._writing or program.startswith("import binascii\nfile = open"):
            # A file is open from one program to the next
            self._writing += program
            if program != copying._CLOSE:
                return ""
            program, self._writing = self._writing, ""
        if program == copying._IMPORT:
            self._imported = program
        return self._board.run(self._imported + program)


@pytest.fixture(autouse=True)
def _large_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each piece is a process of its own here
    monkeypatch.setattr(copying, "_CHUNK_BYTES", 6_144)


def carried(folder: Path, name: str) -> CarriedBoard:
    """What the card has for a board, made as `scripts/flash --images` makes it."""
    folder.mkdir()
    (folder / f"{name}.fw").write_bytes(image(name))
    (folder / f"{name}.start").write_bytes(start_archive(name, installed(name)))
    (board,) = carried_boards(folder)
    return board


def put(board: ChipBoard, wanted: CarriedBoard, steps: int = -1) -> FlashState:
    async def work() -> FlashState:
        prompt = cast("Prompt", ChipPrompt(board, steps))
        found = await copying.ask_state(prompt)
        found.require_room(wanted.name, wanted.files)
        await copying.put(wanted.files, found, prompt, lambda _sent, _whole: None)
        return found

    return asyncio.run(work())


def started(board: ChipBoard) -> tuple[int | None, str | None, list[str]]:
    at, name, files = json.loads(board.run(STARTED))
    return at, name or None, files


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nucleo_f411re", "nucleo-f411re"),
        ("pyboard_v11", "pyboard-v1.1"),
        ("nucleo_wb55", "nucleo-wb55"),
    ],
)
def test_the_version_of_the_card_is_started_also_beside_a_newer_one(
    tmp_path: Path, name: str, told: str
) -> None:
    board, wanted = ChipBoard(tmp_path, name), carried(tmp_path / "carried", name)
    programs = sorted(file.target for file in wanted.files if file.target != "slot_a")
    put(board, wanted)
    assert started(board) == (0, told, programs)
    # What scripts/flash put there since is gone with the rest
    found = flash.state("", board)
    flash.copy(installed(name, found.place), "", found, board)
    put(board, wanted)
    assert started(board) == (0, told, programs)


@pytest.mark.parametrize("steps", [2, 6, 12, 16])
def test_a_cable_that_comes_out_leaves_a_board_that_can_be_begun_again(
    tmp_path: Path, steps: int
) -> None:
    board, wanted = ChipBoard(tmp_path, "nucleo_f411re"), carried(tmp_path / "c", "nucleo_f411re")
    with pytest.raises(CableOut):
        put(board, wanted, steps)
    put(board, wanted)
    assert started(board)[0] == 0


def test_files_of_somebody_else_that_leave_no_room_are_named_before_anything_changes(
    tmp_path: Path,
) -> None:
    board, wanted = ChipBoard(tmp_path, "nucleo_f411re"), carried(tmp_path / "c", "nucleo_f411re")
    # Much smaller ones of an older version
    put(board, wanted)
    board.run("for name in ('main.py', 'slots.mpy'):\n    open(name, 'w').close()")
    board.run(FILL)
    before = board.path.read_bytes()
    with pytest.raises(Unsuitable, match=r"remove log\.txt first"):
        put(board, wanted)
    assert board.path.read_bytes() == before


def test_a_flash_that_takes_nothing_beside_its_files_is_told(tmp_path: Path) -> None:
    board = ChipBoard(tmp_path, "nucleo_f411re", is_sealed=True)
    with pytest.raises(
        copying.CopyFailed, match="beside the file system: `scripts/flash --freeze`"
    ):
        put(board, carried(tmp_path / "carried", "nucleo_f411re"))


def test_start_programs_of_another_place_are_refused(tmp_path: Path) -> None:
    board = ChipBoard(tmp_path, "nucleo_wb55")
    flash.state("", board)
    before = board.path.read_bytes()
    with pytest.raises(Unsuitable, match="use `scripts/flash --board nucleo_f411re` on a PC"):
        put(board, carried(tmp_path / "carried", "nucleo_f411re"))
    assert board.path.read_bytes() == before
