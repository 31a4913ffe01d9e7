"""Growth of the firmware's heap over many requests of every kind."""

import itertools
import struct
from collections.abc import Iterator

from agent.link import frame as codec
from firmware.host.simulation import HEAP
from firmware.host.wire import Wire
from scripts.lib.bench.boards import GPIO_READ, GPIO_WRITE, PINS, one_board
from scripts.lib.bench.pipeline import pipelined
from scripts.lib.bench.table import Row
from tests.fakes.board_sim import BoardSim

ADC_READ = 18
MCU_TEMPERATURE = 19
# Caches are warm and every slot has been used after so many
_WARM_UP = 2_000
# After a collection a conservative collector keeps what a stale word of the stack points at:
# the least of several looks is the truth
_LOOKS = 5
_UNKNOWN_METHOD = 200


def measure(requests: int) -> Row:
    """The row of the heap."""
    with one_board() as board, Wire(str(board.port)) as wire:
        wire.greet()
        pipelined(wire, _requests(wire, _WARM_UP))
        before = _free(board)
        again = before - _free(board)
        answered = sum(pipelined(wire, _requests(wire, requests)).values())
        growth = before - _free(board)
    return Row(
        f"firmware heap growth over {requests:,} requests",
        "0 bytes",
        f"{growth} bytes ({answered:,} answered)",
        f"{again} bytes over none; {before:,} of {HEAP} free",
        growth <= 0 and answered == requests,
    )


def _free(board: BoardSim) -> int:
    return max(int(board.order({"get": True})["heap_free"]) for _ in range(_LOOKS))


def _requests(wire: Wire, count: int) -> Iterator[bytes]:
    sorts = (
        (GPIO_WRITE, PINS["pump"] + b"\x01"),
        (GPIO_READ, PINS["button"]),
        (ADC_READ, PINS["a0"]),
        (codec.METHOD_LEASE_RENEW, struct.pack("<I", 0xFFFFFFFF)),
        (GPIO_WRITE, PINS["pump"] + b"\x00"),
        (MCU_TEMPERATURE, b""),
        (codec.METHOD_STATUS, b""),
        (codec.METHOD_MANIFEST, struct.pack("<I", 100)),
        (GPIO_WRITE, PINS["button"] + b"\x01"),
        (_UNKNOWN_METHOD, b""),
    )
    for number, (method, arguments) in enumerate(itertools.cycle(sorts)):
        if number == count:
            return
        yield wire.request(method, arguments, number & 0xFFFF)
