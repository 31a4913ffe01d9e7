import struct

import pytest

from agent.link import frame as codec
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.methods import LATE_MS, OFF, ON, PINS, switch
from tests.waits import stays_sync, wait_until_sync

LEASE_MS = 2000
SHORT_LEASE_MS = 400  # that of d2
EVERYTHING = struct.pack("<I", 0xFFFFFFFF)


def renew(wire: Wire, mask: bytes = EVERYTHING) -> int:
    return int(struct.unpack("<I", wire.call(codec.METHOD_LEASE_RENEW, mask))[0])


def test_a_lease_that_nobody_renews_ends_in_time(wire: Wire, board: BoardSim) -> None:
    before = {pin: len(board.changes(pin)) for pin in ("led", "pump", "d2")}
    for pin in before:
        switch(wire, pin, ON)
    wire.rest(LEASE_MS / 1000)

    def have_ended() -> bool:
        wire.rest(0.02)
        return all(len(board.changes(pin)) == count + 2 for pin, count in before.items())

    wait_until_sync(have_ended)
    for pin, count in before.items():
        (on, began_ms), (off, ended_ms) = board.changes(pin)[count:]
        lease_ms = SHORT_LEASE_MS if pin == "d2" else LEASE_MS
        assert (on, off) == (1, 0)
        assert lease_ms <= ended_ms - began_ms <= lease_ms + LATE_MS
    assert wire.status()[2] == 0


def test_a_renewed_lease_keeps_the_output_on(wire: Wire, board: BoardSim) -> None:
    switch(wire, "d2", ON)
    count = len(board.changes("d2"))
    mask = 1 << PINS["d2"][0]
    stays_sync(lambda: renew(wire) == mask, 3 * SHORT_LEASE_MS / 1000, look_s=SHORT_LEASE_MS / 4000)
    assert len(board.changes("d2")) == count


def test_only_the_outputs_of_the_mask_are_renewed(wire: Wire, board: BoardSim) -> None:
    led, d2 = 1 << PINS["led"][0], 1 << PINS["d2"][0]
    switch(wire, "led", ON)
    switch(wire, "d2", ON)

    def has_ended() -> bool:
        renew(wire, struct.pack("<I", led))
        return board.value("d2") == 0

    wait_until_sync(has_ended, 1.5 * SHORT_LEASE_MS / 1000, look_s=SHORT_LEASE_MS / 8000)
    assert renew(wire) == led
    assert board.value("d2") == 0
    assert d2 & renew(wire) == 0


def test_an_ended_lease_is_not_brought_back_by_renewing(wire: Wire, board: BoardSim) -> None:
    switch(wire, "d2", ON)
    wait_until_sync(lambda: board.value("d2") == 0)
    assert renew(wire) == 0
    assert board.value("d2") == 0


def test_an_output_at_its_safe_value_needs_no_lease(wire: Wire) -> None:
    switch(wire, "led", ON)
    assert renew(wire) == 1 << PINS["led"][0]
    switch(wire, "led", OFF)
    assert renew(wire) == 0


def test_noise_does_not_keep_an_output_on(wire: Wire, board: BoardSim) -> None:
    switch(wire, "d2", ON)
    (_, began_ms) = board.changes("d2")[-1]

    def has_ended() -> bool:
        wire.write(b"\x00\x05noise\x00" * 20)
        wire.port.read(wire.port.in_waiting)
        return board.value("d2") == 0

    wait_until_sync(has_ended, look_s=0.002)
    (_, ended_ms) = board.changes("d2")[-1]
    assert ended_ms - began_ms <= SHORT_LEASE_MS + LATE_MS


def test_estop_makes_everything_safe_and_keeps_it_so(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    switch(wire, "pump", ON)
    wire.send(codec.ESTOP)
    # Safe first; then it writes the stop down, which takes it a while
    assert [frame.kind for frame in wire.frames(0.1)] == [codec.ACK, codec.BUSY]
    assert (board.value("led"), board.value("pump")) == (0, 0)
    assert wire.status()[0] == codec.STATE_SAFE
    with pytest.raises(Refused) as refused:
        switch(wire, "led", ON)
    assert refused.value.code == codec.UNSAFE_STATE
    assert board.value("led") == 0
    wire.send(codec.ESTOP)
    wire.greet()
    assert wire.status()[::5] == (codec.STATE_SAFE, codec.REASON_ESTOP)
