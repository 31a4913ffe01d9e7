"""`barnacle board list`: serial ports and what is known of each."""

import asyncio
import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.cli import exits
from agent.cli.output import say, say_json, say_table
from agent.errors import LinkError
from agent.health.ports import SerialDevice, serial_devices
from agent.link.connection import BoardConnection
from agent.link.discovery import may_be_a_board
from agent.link.port import open_port
from agent.link.settings import START_BAUD, BoardSettings
from agent.system.clock import Clock, SystemClock


async def describe_port(path: str, baud: int, clock: Clock) -> str:
    """Return half a sentence about the device at the port."""
    try:
        port = await open_port(path, baud)
        async with BoardConnection(port, clock) as connection:
            identity = (await connection.greet()).identity
    except LinkError as err:
        return str(err)
    return f"{identity.board}, firmware {identity.firmware} (build {identity.build})"


def run(boards: Sequence[BoardSettings], *, as_json: bool) -> int:
    devices = serial_devices()
    for board in boards:
        devices = _with_configured(devices, board.port)
    answers = asyncio.run(_answers(_candidates(devices, boards)))
    if as_json:
        say_json(
            [
                {
                    **dataclasses.asdict(device),
                    "configured": bool(_boards_at(device, boards)),
                    "answer": answers.get(device.path, ""),
                }
                for device in devices
            ]
        )
    elif devices:
        say_table([_row(device, boards) for device in devices])
        for path, answer in answers.items():
            say(f"{path}: {answer}")
    else:
        say("no serial port found: plug a board in, or start scripts/board-sim for a simulated one")
    return exits.OK


def _candidates(devices: Sequence[SerialDevice], boards: Sequence[BoardSettings]) -> dict[str, int]:
    """Ports that are configured or may be a board's, and at which rate to ask there."""
    return {
        device.path: next(
            (board.start_baud for board in boards if _is_at(device, board.port)), START_BAUD
        )
        for device in devices
        if Path(device.path).is_char_device()
        and (may_be_a_board(device.usb_id) or _boards_at(device, boards))
    }


async def _answers(bauds: Mapping[str, int]) -> dict[str, str]:
    clock = SystemClock()
    asked = [describe_port(path, baud, clock) for path, baud in bauds.items()]
    return dict(zip(bauds, await asyncio.gather(*asked), strict=True))


def _row(device: SerialDevice, boards: Sequence[BoardSettings]) -> tuple[str, ...]:
    names = _boards_at(device, boards)
    # One board needs no name to be told apart
    mark = "configured" if names and len(boards) == 1 else " ".join(names)
    return (device.path, mark, device.usb_id, device.description, " ".join(device.names))


def _with_configured(devices: list[SerialDevice], port: str) -> list[SerialDevice]:
    """Ports that no bus lists, such as the simulator's, and ports that are not there."""
    if not port or any(_is_at(device, port) for device in devices):
        return devices
    state = "not a USB device" if Path(port).exists() else "not present"
    return [SerialDevice(port, description=state), *devices]


def _boards_at(device: SerialDevice, boards: Sequence[BoardSettings]) -> list[str]:
    return [board.name for board in boards if _is_at(device, board.port)]


def _is_at(device: SerialDevice, port: str) -> bool:
    return bool(port) and os.path.realpath(device.path) == os.path.realpath(port)
