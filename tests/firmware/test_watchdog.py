"""The watchdog of a board while its flash is written, at the times of its data sheet."""

import contextlib
import json
import socket
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
from tests.waits import wait_until_sync

WATCHDOG = 3
# What the greeting says: reset cause and hash of the configuration
CAUSE_AT, HASH_AT = 6, -3
ENTRY = {"name": "pump", "kind": "output", "safe": 0}
# Judging a second configuration takes more memory than an F401 has left
BOARDS = sorted(PARTS.keys() - {"nucleo_f401re"})


@pytest.fixture(autouse=True)
def _interpreter() -> None:
    reason = unavailable_reason()
    if reason is not None:
        pytest.skip(reason)
    if not interpreter.has_words_of_32_bits(interpreter.find()):
        pytest.skip("the boards' memory is modelled with words of 32 bits only")


def free_pins(board: str) -> list[str]:
    """Pins that may be outputs."""
    return [pin for pin, uses in board_file(board).USABLE.items() if "gpio" in uses.split()]


def resets(played: BoardSim) -> int:
    """How often the watchdog has reset the board."""
    return [event["event"] for event in played.record()].count("watchdog")


@pytest.mark.timeout(120)  # the times are real
@pytest.mark.parametrize("board", BOARDS)
def test_no_write_at_the_longest_times_resets_a_board(tmp_path: Path, board: str) -> None:
    pins = free_pins(board)
    flash = tmp_path / "flash.bin"
    with BoardSim(tmp_path, flash=flash, board=board):
        # What is put onto a new board would take a minute
        assert flash.is_file()
    with BoardSim(tmp_path, flash=flash, board=board, flash_times="worst") as played:
        with Wire(str(played.port)) as wire:
            wire.greet()
            for pin in pins[:2]:
                configure(wire, [{**ENTRY, "pin": pin}])
            wire.send(codec.ESTOP)
            with pytest.raises(Refused, match="emergency stop"):
                wire.call(GPIO_WRITE, b"\0\1")
            wire.greet()
        assert resets(played) == 0


@pytest.mark.timeout(120)  # as above
def test_an_erase_that_does_not_end_resets_the_board_which_keeps_its_configuration(
    tmp_path: Path,
) -> None:
    # Its two places lie in sectors of their own
    board = "nucleo_wb55"
    first, second = free_pins(board)[:2]
    with BoardSim(tmp_path, board=board, flash=tmp_path / "flash.bin") as played:
        with Wire(str(played.port)) as wire:
            wire.greet()
            configure(wire, [{**ENTRY, "pin": first}])
            wire.greet()
            kept = wire.greeting[HASH_AT]
            played.order({"erase_ms": 60_000})
            with contextlib.suppress(Exception):
                configure(wire, [{**ENTRY, "pin": second}])
        wait_until_sync(lambda: resets(played) == 1 and played.record()[-1]["event"] != "watchdog")
        with Wire(str(played.port)) as wire:
            wire.greet()
            assert wire.greeting[CAUSE_AT] == WATCHDOG
            assert wire.greeting[HASH_AT] == kept
            # By the reset, or by a stop that may have been torn with the rest of its sector
            with pytest.raises(Refused, match="stopped by"):
                wire.call(GPIO_WRITE, b"\0\1")
        record = played.record()
    light = PARTS[board].light
    assert {one["level"] for one in record if one["event"] == "pin" and one["pin"] != light} <= {0}


def test_a_loop_that_hangs_resets_the_board_with_its_outputs_safe(tmp_path: Path) -> None:
    board = "nucleo_f411re"
    with BoardSim(tmp_path, board=board) as played:
        with Wire(str(played.port)) as wire:
            wire.greet()
            configure(wire, [{**ENTRY, "pin": free_pins(board)[0]}])
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(played.port.with_name("board.ctl")))
            control.sendall(json.dumps({"spin_ms": 60_000}).encode() + b"\n")
            wait_until_sync(lambda: resets(played) == 1)
        with Wire(str(played.port)) as wire:
            wait_until_sync(lambda: played.record()[-1]["event"] != "watchdog")
            wire.greet()
            assert wire.greeting[CAUSE_AT] == WATCHDOG
            assert any(wire.greeting[HASH_AT])
