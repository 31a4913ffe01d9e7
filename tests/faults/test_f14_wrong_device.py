"""F14: wrong firmware, wrong device, wrong board: nothing is switched, and a sentence says why."""

import asyncio
import contextlib
import os
import pty
import signal
import subprocess
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import LinkLost
from agent.link import frame as wire
from agent.link.base import BoardState
from agent.link.board import SerialBoard
from agent.link.settings import BoardSettings
from agent.system.clock import SystemClock
from tests.fakes.linked_board import linked
from tests.fakes.peer import ScriptedBoard
from tests.fakes.ports import EchoPeer, Peer, TalkingPeer
from tests.fakes.virtual_time import elapse, in_virtual_time
from tests.waits import wait_until

NOISE = bytes(range(1, 256)) * 8


@pytest.mark.parametrize(
    ("peer", "words"),
    [
        (ScriptedBoard(protocol=2), "flash the firmware"),
        (ScriptedBoard(protocol=0), "flash the firmware"),
        (ScriptedBoard(announced_hash=b"otherone"), "does not match its announced hash"),
        (ScriptedBoard(manifest=b"[]"), ""),
        (TalkingPeer(b"MicroPython v1.25.0 on 2025-04-15\r\n>>> "), "MicroPython prompt"),
        (TalkingPeer(b"\r\nOK\r\nNO CARRIER\r\n"), "not the link protocol"),
        (EchoPeer(), "echoes"),
        (TalkingPeer(b""), "nothing answers"),
        (TalkingPeer(NOISE), "not the link protocol"),
    ],
)
def test_a_stranger_is_never_asked_to_switch_anything(
    tmp_path: Path, peer: Peer, words: str
) -> None:
    @in_virtual_time
    async def meet() -> None:
        async with linked(peer, tmp_path) as link:
            await elapse(30)
            assert link.board.status.state in {BoardState.CONNECTING, BoardState.REFUSED}
            assert words in link.board.status.trouble
            assert link.board.status.trouble
            with pytest.raises(LinkLost):
                await link.board.call("gpio_write", {"pin": "led", "value": "on"})
            if isinstance(peer, ScriptedBoard):
                asked = {frame.kind for frame in peer.frames} - {wire.HELLO}
                assert peer.record == []
                assert asked <= {wire.REQUEST, wire.ACK, wire.NAK, wire.PING}

    meet()


async def test_a_real_micropython_prompt_is_recognised(
    tmp_path: Path, micropython_command: list[str]
) -> None:
    with prompt(micropython_command) as path:
        board = SerialBoard(BoardSettings(port=path), tmp_path, SystemClock())
        running = asyncio.create_task(board.run())
        try:
            await wait_until(lambda: "MicroPython prompt" in board.status.trouble)
        finally:
            running.cancel()
            await asyncio.wait([running])


@contextlib.contextmanager
def prompt(command: list[str]) -> Iterator[str]:
    """An interpreter that waits for somebody to type, at the other end of two terminals.

    It starts again like a board after a soft reset: a Ctrl-D among the bytes it is sent ends it.
    """
    near, far = pty.openpty()
    tty.setraw(far)
    for_ever = ["sh", "-c", 'while "$@"; do :; done', "sh", *command, "-i"]
    process = subprocess.Popen(for_ever, stdin=near, stdout=near, stderr=near, process_group=0)
    try:
        yield os.ttyname(far)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(near)
        os.close(far)
