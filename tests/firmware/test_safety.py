"""What locks the outputs, and the dead man's handle, as the record of the world has them."""

import socket
import struct
import time
from pathlib import Path

import pytest

from agent.link import frame as codec
from agent.link.frame import Frame, encode
from firmware.host.wire import Refused, Wire
from tests.fakes.board_sim import BoardSim
from tests.firmware.conftest import simulated
from tests.firmware.methods import GPIO_WRITE, LATE_MS, OFF, ON, PINS, switch
from tests.waits import stays_sync, wait_until_sync

SILENCE_MS = 500
GRACE_MS = 50
ESTOP = bytes([codec.REASON_ESTOP])
WATCHDOG = bytes([codec.REASON_WATCHDOG])


def state(wire: Wire) -> tuple[int, int]:
    return wire.status()[0], wire.status()[5]


def test_a_stop_outlives_the_session_until_it_is_cleared(wire: Wire) -> None:
    wire.send(codec.ESTOP)
    wire.greet()
    assert state(wire) == (codec.STATE_SAFE, codec.REASON_ESTOP)
    with pytest.raises(Refused, match="stopped by an emergency stop"):
        switch(wire, "led", ON)
    with pytest.raises(Refused) as refused:
        wire.call(codec.METHOD_CLEAR, WATCHDOG)
    assert refused.value.code == codec.OUT_OF_RANGE
    assert wire.call(codec.METHOD_CLEAR, ESTOP) == bytes([codec.STATE_IDLE])
    assert switch(wire, "led", ON) == ON


def test_a_stop_is_taken_without_a_session(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    wire.write(encode(Frame(codec.ESTOP)))
    assert state(wire) == (codec.STATE_SAFE, codec.REASON_ESTOP)
    assert board.value("led") == 0


def test_a_stop_is_taken_before_any_session(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.write(encode(Frame(codec.ESTOP)) * 3)
        wire.greet()
        assert state(wire) == (codec.STATE_SAFE, codec.REASON_ESTOP)


def test_a_stop_outlives_a_loss_of_power_until_it_is_cleared(tmp_path: Path) -> None:
    with simulated(tmp_path, flash=tmp_path / "flash") as board:
        with Wire(str(board.port)) as wire:
            wire.greet()
            switch(wire, "led", ON)
            wire.send(codec.ESTOP)
            # The first answer may come from the pass before the one that writes it down
            for _ in range(3):
                assert state(wire) == (codec.STATE_SAFE, codec.REASON_ESTOP)
        board.kill()
        board.start()
        with Wire(str(board.port)) as wire:
            wire.greet()
            assert state(wire) == (codec.STATE_SAFE, codec.REASON_ESTOP)
            with pytest.raises(Refused, match="stopped by an emergency stop"):
                switch(wire, "led", ON)
            assert wire.call(codec.METHOD_CLEAR, ESTOP) == bytes([codec.STATE_IDLE])
        board.kill()
        board.start()
        with Wire(str(board.port)) as wire:
            wire.greet()
            assert state(wire) == (codec.STATE_IDLE, codec.REASON_NONE)
            assert switch(wire, "led", ON) == ON


def test_clearing_what_is_not_locked_changes_nothing(wire: Wire) -> None:
    assert wire.call(codec.METHOD_CLEAR, ESTOP) == bytes([codec.STATE_IDLE])


def test_a_board_that_its_watchdog_has_reset_stays_safe(tmp_path: Path) -> None:
    with simulated(tmp_path, {"reset_cause": 3}) as board, Wire(str(board.port)) as wire:
        wire.greet()
        assert wire.greeting[6] == 3
        assert state(wire) == (codec.STATE_SAFE, codec.REASON_WATCHDOG)
        with pytest.raises(Refused, match="stopped by a watchdog reset"):
            switch(wire, "led", ON)
        wire.call(codec.METHOD_CLEAR, WATCHDOG)
        assert switch(wire, "led", ON) == ON


def on_for_ms(board: BoardSim, pin: str) -> int:
    (on, began_ms), (off, ended_ms) = board.changes(pin)[-2:]
    assert (on, off) == (1, 0)
    return ended_ms - began_ms


def test_a_silent_host_means_safe_outputs(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    switch(wire, "pump", ON)
    wait_until_sync(lambda: board.value("led") == board.value("pump") == 0)
    # The interrupt has done it; the loop notices a little later
    stays_sync(lambda: board.value("led") == board.value("pump") == 0, 2 * GRACE_MS / 1000)
    for pin in ("led", "pump"):
        assert SILENCE_MS - GRACE_MS <= on_for_ms(board, pin) <= SILENCE_MS + LATE_MS
    assert wire.status()[2] == 0
    assert switch(wire, "led", ON) == ON


def test_what_is_read_after_its_sender_has_died_ends_by_silence(own_board: BoardSim) -> None:
    with Wire(str(own_board.port)) as wire, socket.socket(socket.AF_UNIX) as control:
        wire.greet()
        control.connect(str(own_board.port.with_name("board.ctl")))
        control.sendall(b'{"freeze_ms": 300}\n')
        time.sleep(GRACE_MS / 1000)
        # They wait in the line, the last words of this host
        wire.send(codec.REQUEST, wire.request(GPIO_WRITE, PINS["led"] + ON))
        renewal = wire.request(codec.METHOD_LEASE_RENEW, struct.pack("<I", 0xFFFFFFFF))
        wire.send(codec.REQUEST, renewal, 1)
        assert control.recv(100) == b'{"ok": true}\n'
        wait_until_sync(lambda: [value for value, _ in own_board.changes("led")][-2:] == [1, 0])
        assert SILENCE_MS - GRACE_MS <= on_for_ms(own_board, "led") <= SILENCE_MS + LATE_MS


def test_a_host_that_shows_itself_is_alive(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    wire.rest(2 * SILENCE_MS / 1000)
    assert board.value("led") == 1
    switch(wire, "led", OFF)


def test_frames_of_another_session_are_no_sign_of_life(wire: Wire, board: BoardSim) -> None:
    switch(wire, "led", ON)
    ping = encode(Frame(codec.PING, payload=bytes(4)), wire.nonce ^ 2)

    def has_ended() -> bool:
        wire.write(ping)
        return board.value("led") == 0

    wait_until_sync(has_ended, look_s=0.02)
    assert on_for_ms(board, "led") <= SILENCE_MS + LATE_MS


@pytest.mark.parametrize("trouble", ["freeze_ms", "spin_ms"])
def test_outputs_go_safe_while_the_firmware_hangs(own_board: BoardSim, trouble: str) -> None:
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        switch(wire, "led", ON)
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(str(own_board.port.with_name("board.ctl")))
            control.sendall(b'{"%s": 1500}\n' % trouble.encode())

            def has_ended() -> bool:
                wire.send(codec.PING, struct.pack(codec.PING_FORMAT, 0))
                return own_board.value("led") == 0

            wait_until_sync(has_ended, look_s=0.1)
            # It hangs still, and hears nothing
            assert on_for_ms(own_board, "led") <= SILENCE_MS + LATE_MS
            assert control.recv(100) == b'{"ok": true}\n'
        assert "interrupt_fault" not in {event["event"] for event in own_board.record()}
