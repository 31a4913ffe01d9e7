"""The firmware as a part of MicroPython: its sources, and a board that has it so."""

import struct
from pathlib import Path

import pytest

from agent.link import frame
from agent.link.update import FROZEN
from firmware.host import freeze, interpreter
from firmware.host.bundle import board_file, build_number, bundle
from firmware.host.compiler import compiled
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.firmware.bench import configure

BOARDS = ("nucleo_f401re", "nucleo_f411re")
PARTS_OF_512_KB = ("nucleo_f401re", "nucleo_f411re", "nucleo_f446re", "weact_blackpill_f411")
# Of the 393,216 bytes from the first sector behind the file system on; MicroPython 1.28 for an F411
# takes 299,080 of them. Frozen in, a file takes about what it does compiled.
ROOM_BYTES = 92_000
STATE, BEGIN = 0, 1
ENTRY = {"name": "pump", "kind": "output", "pin": "PA6"}


@pytest.fixture
def _interpreter() -> None:
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    if not interpreter.has_words_of_32_bits(interpreter.find()):
        pytest.skip("the boards' memory is modelled with words of 32 bits only")


def built(name: str) -> int:
    return build_number(bundle(name, is_frozen=True)[:-1])


def test_the_manifest_names_every_file(tmp_path: Path) -> None:
    path = freeze.write("nucleo_f401re", tmp_path / "new")
    text = path.read_text()
    for file in freeze.sources("nucleo_f401re"):
        assert (path.parent / file.target).read_bytes() == file.content
        top = file.target.partition("/")[0]
        assert f'("{top}"' in text
    # Once more, over what it wrote itself
    assert freeze.write("nucleo_f401re", tmp_path / "new") == path


def test_nothing_of_somebody_else_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("mine")
    with pytest.raises(FileExistsError, match="name a new folder"):
        freeze.write("nucleo_f401re", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_nor_is_the_manifest_of_a_board_of_micropython(tmp_path: Path) -> None:
    # Each folder of ports/stm32/boards has one
    theirs = tmp_path / "manifest.py"
    theirs.write_text('include("$(PORT_DIR)/boards/manifest.py")\nrequire("bundle-networking")\n')
    before = theirs.read_text()
    with pytest.raises(FileExistsError, match="name a new folder"):
        freeze.write("nucleo_f401re", tmp_path)
    assert theirs.read_text() == before


def test_a_small_board_has_every_driver_when_they_are_frozen() -> None:
    driver = "node/devices/scd4x.py"
    assert driver in {file.target for file in freeze.sources("nucleo_f411re")}
    assert driver not in {file.target for file in bundle("nucleo_f411re")}


@pytest.mark.parametrize("board", PARTS_OF_512_KB)
def test_what_is_frozen_in_has_room_beside_micropython(board: str) -> None:
    taken = sum(len(compiled(file)) for file in freeze.sources(board))
    assert taken <= ROOM_BYTES


@pytest.mark.usefixtures("_interpreter")
@pytest.mark.parametrize("board", BOARDS)
def test_it_greets_by_its_own_build_and_keeps_a_configuration(tmp_path: Path, board: str) -> None:
    played = BoardSim(tmp_path, flash=tmp_path / "flash.bin", board=board, is_frozen=True)
    with played, Wire(str(played.port)) as wire:
        wire.greet()
        assert wire.name == board_file(board).NAME
        assert wire.greeting[5] == built(board) != build_number(bundle(board)[:-1])
        configure(wire, [ENTRY])
        wire.greet()
        configured = wire.greeting[-3]
        played.kill()
        played.start()
    with played, Wire(str(played.port)) as wire:
        wire.greet()
        assert wire.greeting[-3] == configured


@pytest.mark.usefixtures("_interpreter")
def test_it_takes_no_update_over_the_link(tmp_path: Path) -> None:
    with (
        BoardSim(tmp_path, board="nucleo_f401re", is_frozen=True) as played,
        Wire(str(played.port)) as wire,
    ):
        wire.greet()
        answer = wire.call(frame.METHOD_UPDATE, bytes([STATE]))
        assert struct.unpack("<BBBI", answer) == (0, FROZEN, 0, 0)
        with pytest.raises(Refused, match="frozen"):
            wire.call(frame.METHOD_UPDATE, bytes([BEGIN]) + bytes(36))
