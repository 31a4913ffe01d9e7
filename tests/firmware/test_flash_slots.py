"""scripts/flash where the versions lie in flash of their own: on the model of the board's flash."""

import json
from pathlib import Path

import pytest

from agent.blank.board_state import SlotPlace, Unsuitable, place_of
from agent.link.prompt import prompt_program
from firmware.host import flash, flash_command
from firmware.host.bundle import FIRMWARE
from firmware.host.image import installed
from tests.fakes.board_sim import unavailable_reason
from tests.fakes.chip_board import ChipBoard

PORT = "/dev/ttyBOARD"
STARTED = """
import json, slots
store = slots.open_store()
at = slots.choose(store)[0]
about = at is not None and json.loads(slots.Image(store, at).open("about.json", "rb").read())
print(json.dumps([at, about and about["board"], sorted(os.listdir())]))
"""
KEEP = """
sys.path.append({firmware!r})
from node.store import Store
if {text!r}:
    Store(1, "configuration").save({text!r})
print(bytes(Store(1, "configuration").load()))
"""
# As an older `scripts/flash` has laid out the flash
OLD_DIVISION = (
    prompt_program("small_fat.py")
    + """
import os, pyb, vfs
os.chdir("/")
vfs.umount("/flash")
make(pyb.Flash(start=0))
vfs.mount(pyb.Flash(start=0), "/flash")
os.chdir("/flash")
"""
)
STOP = """
sys.path.append({firmware!r})
from node.store import Store
print(bytes(Store(1, "stop").load()))
"""
FILL = """
size = 512 * (os.statvfs('')[3] - {left})
with open('log.txt', 'w') as file:
    file.write('x' * size)
"""
# Stopped twice, and cleared between
SAVE_STOP = """
sys.path.append({firmware!r})
from node.store import Store
for text in (b"stopped", b"", {text!r}):
    Store(1, "stop").save(text)
"""


@pytest.fixture(autouse=True)
def _interpreter() -> None:
    if reason := unavailable_reason():
        pytest.skip(reason)


def put(board: ChipBoard, name: str) -> SlotPlace:
    """Do what `scripts/flash` does at the prompt; return the place of the slots."""
    return place_of(flash_command.put(name, PORT, board))


def started(board: ChipBoard) -> tuple[int | None, str | None, list[str]]:
    at, name, files = json.loads(board.run(STARTED))
    return at, name or None, files


def kept(board: ChipBoard, text: bytes = b"") -> str:
    """Save that text, unless it is empty, with the firmware's own code; what is kept then."""
    return board.run(KEEP.format(firmware=str(FIRMWARE), text=text)).strip()


@pytest.mark.parametrize("name", ["nucleo_f411re", "nucleo_wb55"])
@pytest.mark.parametrize("divided", ["", OLD_DIVISION], ids=["files", "divided"])
@pytest.mark.parametrize("text", [b"stopped", b""], ids=["stopped", "cleared"])
def test_a_stopped_board_stays_stopped_when_its_flash_is_divided(
    tmp_path: Path, name: str, divided: str, text: bytes
) -> None:
    board = ChipBoard(tmp_path, name)
    board.run(divided + SAVE_STOP.format(firmware=str(FIRMWARE), text=text))
    put(board, name)
    assert board.run(STOP.format(firmware=str(FIRMWARE))).strip() == repr(text)


@pytest.mark.parametrize(
    ("name", "told", "place", "second"),
    [
        ("nucleo_f411re", "nucleo-f411re", SlotPlace.WORDS, 0),
        ("pyboard_v11", "pyboard-v1.1", SlotPlace.WORDS, 1),
        ("nucleo_wb55", "nucleo-wb55", SlotPlace.BLOCKS, 1),
    ],
)
def test_a_version_goes_into_a_slot_and_the_next_into_the_other_one_where_there_is_one(
    tmp_path: Path, name: str, told: str, place: SlotPlace, second: int
) -> None:
    board = ChipBoard(tmp_path, name)
    assert put(board, name) is place
    programs = [file.target for file in installed(name, place) if file.target != "slot_a"]
    assert started(board) == (0, told, sorted(programs))
    assert kept(board, b"configured") == "b'configured'"
    # Nothing is divided anew: what is kept stays
    assert put(board, name) is place
    assert started(board) == (second, told, sorted(programs))
    assert kept(board) == "b'configured'"


@pytest.mark.parametrize("steps", [2, 4, 9, 12])
def test_a_cable_that_comes_out_on_64_kb_leaves_a_board_that_can_be_mended(
    tmp_path: Path, steps: int
) -> None:
    board = ChipBoard(tmp_path, "nucleo_f411re")
    board.steps_left = steps
    with pytest.raises(flash.FlashFailed, match="cable"):
        put(board, "nucleo_f411re")
    board.steps_left = -1
    put(board, "nucleo_f411re")
    assert started(board)[0] == 0


def test_a_cable_that_comes_out_beside_another_version_leaves_that_one(tmp_path: Path) -> None:
    board = ChipBoard(tmp_path, "pyboard_v11")
    put(board, "pyboard_v11")
    board.steps_left = 6
    with pytest.raises(flash.FlashFailed, match="cable"):
        put(board, "pyboard_v11")
    board.steps_left = -1
    assert started(board)[:2] == (0, "pyboard-v1.1")


def test_a_board_whose_flash_cannot_be_written_so_is_refused_and_keeps_all(tmp_path: Path) -> None:
    board = ChipBoard(tmp_path, "nucleo_f411re", is_sealed=True)
    flash.state(PORT, board)
    before = board.path.read_bytes()
    with pytest.raises(Unsuitable, match="scripts/flash --board nucleo_f411re --freeze FOLDER"):
        put(board, "nucleo_f411re")
    assert board.path.read_bytes() == before


def test_files_of_somebody_else_are_named_and_stay(tmp_path: Path) -> None:
    board = ChipBoard(tmp_path, "nucleo_f411re")
    board.run("open('mine.py', 'w').close()")
    with pytest.raises(Unsuitable, match=r"would lose mine\.py"):
        put(board, "nucleo_f411re")
    assert board.run("print(os.listdir())").strip() == "['mine.py']"


def test_a_last_sector_of_somebody_else_is_not_erased(tmp_path: Path) -> None:
    board = ChipBoard(tmp_path, "pyboard_v11")
    flash.state(PORT, board)
    with board.path.open("r+b") as file:
        # Behind the 112 KB that MicroPython has for files, in the model
        file.seek(114_688 + 5_000)
        file.write(b"mine")
    with pytest.raises(Unsuitable, match="last 128 KB"):
        put(board, "pyboard_v11")


def test_another_board_than_was_named_is_refused_and_keeps_all(tmp_path: Path) -> None:
    board = ChipBoard(tmp_path, "nucleo_f411re")
    board.machine = "WEACT_F411_BLACKPILL with STM32F411CE"
    flash.state(PORT, board)
    before = board.path.read_bytes()
    with pytest.raises(Unsuitable, match="is a weact_blackpill_f411, not a nucleo_f411re"):
        put(board, "nucleo_f411re")
    assert board.path.read_bytes() == before


@pytest.mark.parametrize("machine", ["NUCLEO-F411RE with STM32F411xE", "mine with STM32F411xE", ""])
def test_one_that_may_be_the_named_board_is_not(tmp_path: Path, machine: str) -> None:
    board = ChipBoard(tmp_path, "nucleo_f411re")
    board.machine = machine or board.machine
    assert put(board, "nucleo_f411re") is SlotPlace.WORDS


@pytest.mark.parametrize("name", ["nucleo_f411re", "pyboard_v11", "nucleo_wb55"])
def test_files_of_somebody_else_that_leave_no_room_are_named_before_anything_changes(
    tmp_path: Path, name: str
) -> None:
    board = ChipBoard(tmp_path, name)
    put(board, name)
    board.run(FILL.format(left=2))
    before = board.path.read_bytes()
    with pytest.raises(Unsuitable, match=r"log\.txt"):
        put(board, name)
    assert board.path.read_bytes() == before
    board.run("os.remove('log.txt')")
    put(board, name)
