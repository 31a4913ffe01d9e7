"""The firmware as it is installed, on each board's own flash, file system, pins and memory."""

from pathlib import Path

import pytest

from agent.link import frame as codec
from firmware.host import interpreter
from firmware.host.bundle import board_file
from firmware.host.parts import PARTS
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.firmware.bench import configure
from tests.firmware.methods import GPIO_WRITE

ENTRY = {"name": "pump", "kind": "output", "safe": 0}


@pytest.fixture(autouse=True)
def _interpreter() -> None:
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    if not interpreter.has_words_of_32_bits(interpreter.find()):
        pytest.skip("the boards' memory is modelled with words of 32 bits only")


def free_pin(board: str) -> str:
    """A pin that may be an output."""
    return next(pin for pin, uses in board_file(board).USABLE.items() if "gpio" in uses.split())


@pytest.mark.parametrize("board", sorted(PARTS))
def test_it_starts_and_keeps_a_configuration(tmp_path: Path, board: str) -> None:
    flash = tmp_path / "flash.bin"
    played = BoardSim(tmp_path, flash=flash, board=board)
    with played, Wire(str(played.port)) as wire:
        wire.greet()
        assert wire.name == board_file(board).NAME
        empty = wire.greeting
        configure(wire, [{**ENTRY, "pin": free_pin(board)}])
        wire.greet()
        configured = wire.greeting
        assert configured != empty
        played.kill()
        played.start()
    with played, Wire(str(played.port)) as wire:
        wire.greet()
        none, put, found = (greeting[-3] for greeting in (empty, configured, wire.greeting))
        assert put != none
        # A board without flash for it waits for the Pi to send it again
        assert found == (put if board_file(board).FLASH_CLASS else none)


# Judging a second configuration takes more memory than an F401 has left
@pytest.mark.parametrize("board", sorted(PARTS.keys() - {"nucleo_f401re"}))
def test_the_light_of_the_flash_drives_nothing_but_itself(tmp_path: Path, board: str) -> None:
    light = PARTS[board].light
    assert light not in board_file(board).USABLE
    with BoardSim(tmp_path, board=board) as played, Wire(str(played.port)) as wire:
        wire.greet()
        with pytest.raises(Refused, match=f"{light} cannot be used"):
            configure(wire, [{**ENTRY, "pin": light}])
        configure(wire, [{**ENTRY, "pin": free_pin(board)}])
        # What the loop does between two entries of the record has happened once it answers again
        wire.greet()
        record = played.record()
    lit = [one["value"] for one in record if one["event"] == "flash_light"]
    # In turn, and dark in the end
    assert lit == [1, 0] * (len(lit) // 2)
    assert lit or not board_file(board).FLASH_CLASS
    driven = [one for one in record if one["event"] == "pin"]
    assert {one["pin"] for one in driven if one["level"]} <= {light}
    by_light = [one["level"] for one in driven if one["pin"] == light]
    assert len(by_light) >= len(lit)


def test_an_emergency_stop_is_kept_over_a_loss_of_power(tmp_path: Path) -> None:
    played = BoardSim(tmp_path, flash=tmp_path / "flash.bin", board="nucleo_f411re")
    with played, Wire(str(played.port)) as wire:
        wire.greet()
        wire.call(GPIO_WRITE, b"\0\1")
        wire.send(codec.ESTOP)
        # The stop is written down once the outputs are safe, before what comes after this pass of
        # the loop is heard; the first greeting may come in the same one
        wire.greet()
        wire.greet()
        played.kill()
        played.start()
        with Wire(str(played.port)) as again:
            again.greet()
            with pytest.raises(Refused, match="emergency stop"):
                again.call(GPIO_WRITE, b"\0\1")
