"""`barnacle board`: list ports and boards, show one, call it, configure and update it."""

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import asdict

from agent.cli import board_call, board_info, configuration, exits
from agent.cli.board_visit import chosen, ready_board
from agent.cli.output import say, say_json, say_table
from agent.errors import ConfigRefused, LinkError, LinkLost, PinRefused, UpdateRefused
from agent.hardware.enable_lines import open_enable_lines
from agent.health.ports import SerialDevice, serial_devices
from agent.health.status import read_status
from agent.link.base import Board
from agent.link.board import SerialBoard
from agent.link.connection import BoardConnection
from agent.link.discovery import may_be_a_board
from agent.link.image import FirmwareImage, carried_for, read_image, version_of
from agent.link.port import open_port
from agent.link.settings import START_BAUD, BoardSettings
from agent.link.update import Updater
from agent.settings import Paths, Settings, enable_gpios, state_dir
from agent.system.clock import Clock, SystemClock

# Flash of this class is erased and written through a cache that a power cut can lose
_NO_PROMISE = "fat-16k"


def disable(gpios: Sequence[int]) -> int:
    """Switch the enable lines off, each whatever becomes of the others.

    The kernel refuses a line that an agent still holds.
    """
    off: list[str] = []
    troubles: list[str] = []
    for gpio in gpios:
        try:
            for line in open_enable_lines((gpio,)):
                line.close()
            off.append(f"GPIO {gpio}")
        except (ConfigRefused, PinRefused) as err:
            troubles.append(str(err))
    if off or not troubles:
        named = ", ".join(off)
        print(f"off: {named}" if named else "nothing to switch off: no board has an enable_gpio")
    if troubles:
        raise PinRefused("; ".join(troubles))
    return exits.OK


def _disable(arguments: Namespace) -> int:
    """Switch off the enable lines of the configuration, and those of the agent that ran last.

    The file may say something else by now, or have a mistake: then it is refused after that.
    """
    refused: ConfigRefused | None = None
    gpios: tuple[int, ...] = ()
    try:
        settings, paths = configuration.load(arguments)
        gpios = enable_gpios(settings)
    except ConfigRefused as err:
        named = getattr(arguments, "state_dir", None)
        refused, paths = err, Paths(None, Path(named) if named else state_dir(os.environ))
    status = read_status(paths.status_file)
    left_on = status.enable_gpios if status else ()
    done = disable(tuple(dict.fromkeys((*gpios, *left_on))))
    if refused is not None:
        raise refused
    return done


def configure(board: SerialBoard) -> int:
    if board.pending:
        say(f"{board.name} keeps its present configuration, because the new one has looser limits:")
        for words in board.pending:
            say(f"  {words}")
        say("To accept it, run `barnacle board configure --yes`")
        return exits.FAILED
    if board.misconfigured:
        say(f"{board.name}: {board.misconfigured}")
        return exits.FAILED
    say(f"{board.name} uses the configuration of the settings")
    return exits.OK


def run(arguments: Namespace) -> int:
    if arguments.action == "wizard":
        from agent.cli import board_wizard  # noqa: PLC0415 - only it needs the questions

        return board_wizard.run(arguments)
    if arguments.action == "describe":
        from agent.cli import board_describe  # noqa: PLC0415 - only it speaks with a prompt

        return asyncio.run(board_describe.run(arguments))
    if arguments.action == "install":
        from agent.cli import board_install  # noqa: PLC0415 - only it knows boot loaders

        return asyncio.run(board_install.run(arguments))
    if arguments.action == "disable":
        return _disable(arguments)
    settings, paths = configuration.load(arguments)
    if arguments.action == "list":
        return list_ports(settings.every_board(), as_json=arguments.json)
    return asyncio.run(_with_board(arguments, settings, paths))


async def _with_board(arguments: Namespace, settings: Settings, paths: Paths) -> int:
    wanted = chosen(settings, arguments)
    is_agreed = arguments.action == "configure" and arguments.yes
    async with ready_board(wanted, paths, is_agreed=is_agreed) as board:
        if arguments.action == "info":
            return board_info.run(board, as_json=arguments.json)
        if arguments.action == "configure":
            return configure(board)
        if arguments.action == "update":
            return await update_firmware(board, arguments)
        return await board_call.run(board, arguments)


async def update_firmware(board: Board, arguments: Namespace) -> int:
    """Write the firmware that came with this agent, or another image, to the board."""
    identity = board.status.identity
    if identity is None:
        raise LinkLost("the board has not identified itself")
    image = read_image(Path(arguments.image)) if arguments.image else carried_for(identity)
    if image is None:
        raise LinkLost(
            f"no firmware for {identity.board} in this installation: run `scripts/flash --images` "
            "in a checkout (a described board needs its board file there), then "
            "`barnacle board update --image FILE.fw`"
        )
    if image.about.build == identity.build and not arguments.force:
        say(f"{identity.board} already runs firmware {image.shown}")
        return exits.OK
    if image.about.frozen_build == identity.build:
        say(f"{identity.board} already runs firmware {image.shown}, frozen into its MicroPython")
        return exits.OK
    if image.about.version < version_of(identity.firmware) and not arguments.force:
        raise UpdateRefused(
            f"firmware {image.shown} is older than {identity.firmware} (build {identity.build}), "
            f"which {identity.board} runs: to go back to it, add --force"
        )
    if identity.flash_class == _NO_PROMISE:
        _note("keep the power on: a power cut during the write can destroy the files on this board")
    say(await Updater(board, image, SystemClock(), _Progress(image)).run())
    return exits.OK


class _Progress:
    """Prints each tenth of the transfer once, on a terminal only."""

    def __init__(self, image: FirmwareImage) -> None:
        self._told = -1
        self._shown = image.shown

    def __call__(self, sent: int, total: int) -> None:
        tenth = 10 * sent // total
        if tenth != self._told and sys.stderr.isatty():
            self._told = tenth
            _note(f"sending firmware {self._shown}: {10 * tenth} %")


def _note(line: str) -> None:
    print(line, file=sys.stderr)


async def describe_port(path: str, baud: int, clock: Clock) -> str:
    """Return half a sentence about the device at the port."""
    try:
        port = await open_port(path, baud)
        async with BoardConnection(port, clock) as connection:
            identity = (await connection.greet()).identity
    except LinkError as err:
        return str(err)
    return f"{identity.board}, firmware {identity.firmware} (build {identity.build})"


def list_ports(boards: Sequence[BoardSettings], *, as_json: bool) -> int:
    """Print the serial ports, and the answer of each board."""
    devices = serial_devices()
    for board in boards:
        devices = _with_configured(devices, board.port)
    answers = asyncio.run(_answers(_candidates(devices, boards)))
    if as_json:
        say_json(
            [
                {
                    **asdict(device),
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
    """Return the baud rate of each port that is configured or may be a board's."""
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
    """Add a configured port that no bus lists: the simulator's, or one that is unplugged."""
    if not port or any(_is_at(device, port) for device in devices):
        return devices
    state = "not a USB device" if Path(port).exists() else "not present"
    return [SerialDevice(port, description=state), *devices]


def _boards_at(device: SerialDevice, boards: Sequence[BoardSettings]) -> list[str]:
    return [board.name for board in boards if _is_at(device, board.port)]


def _is_at(device: SerialDevice, port: str) -> bool:
    return bool(port) and os.path.realpath(device.path) == os.path.realpath(port)
