"""`barnacle board install`: MicroPython and our firmware onto a blank board, by hand."""

import sys
from argparse import Namespace
from collections.abc import Sequence

import msgspec

from agent.blank.boot_loader import BootLoader, boot_loaders
from agent.blank.carried import (
    CarriedBoard,
    NotCarried,
    carried_boards,
    checked_dfu,
    chosen_board,
)
from agent.blank.install import InstallationStep, Installer, by_child
from agent.cli import configuration, exits
from agent.cli.board_visit import chosen, ready_board, refuse_if_taken
from agent.cli.output import say
from agent.errors import BadArguments
from agent.health.ports import serial_devices
from agent.link.discovery import SerialPorts, may_be_a_board
from agent.link.settings import BoardSettings
from agent.settings import Paths
from agent.system.clock import SystemClock

_HOW = """\
A board gets into its boot loader like this: hold BOOT0, press reset (NRST), let both go. On a
NUCLEO the boot loader has no USB: put MicroPython onto it by its ST-Link (firmware/README.md)."""


async def run(arguments: Namespace) -> int:
    settings, paths = configuration.load_as_root(arguments)
    wanted = chosen(settings, arguments)
    boards, loaders = carried_boards(), boot_loaders()
    if arguments.model is None:
        _say_what_is_here(boards, loaders)
        return exits.OK
    board = chosen_board(arguments.model, boards)
    if not arguments.port:
        # Any port but that of a board which the agent has
        refuse_if_taken(wanted, paths)
    return await _install(board, boards, wanted, loaders, paths)


async def _install(
    board: CarriedBoard,
    boards: Sequence[CarriedBoard],
    wanted: BoardSettings,
    loaders: Sequence[BootLoader],
    paths: Paths,
) -> int:
    clock = SystemClock()
    ports = SerialPorts(wanted, clock)
    installer = Installer(ports, paths.board_install, clock, _Progress().told, say)
    try:
        if loaders and not wanted.port:
            await installer.by_boot_loader(board, _only(loaders, board), by_child)
        elif path := await ports.find():
            await installer.by_prompt(board, path, others=boards)
        else:
            raise BadArguments(f"no board is plugged in.\n{_HOW}")
    finally:
        ports.close()
    port = wanted.port or await ports.find() or ""
    settings = msgspec.structs.replace(wanted, port=port)
    async with ready_board(settings, paths, is_agreed=False) as link:
        say(await installer.greeted(board, link))
    return exits.OK


def _only(loaders: Sequence[BootLoader], board: CarriedBoard) -> BootLoader:
    if len(loaders) > 1:
        raise BadArguments(
            f"{len(loaders)} boards are in their boot loader "
            f"({', '.join(loader.port for loader in loaders)}): leave one plugged in"
        )
    _, elements = checked_dfu(board.name)
    if not loaders[0].has_room(elements):
        raise NotCarried(
            f"MicroPython for {board.name} does not fit the flash of this board "
            f"({loaders[0].layout}): it is another one"
        )
    return loaders[0]


class _Progress:
    """Prints each step once, and each tenth of it on a terminal."""

    def __init__(self) -> None:
        self._told: tuple[InstallationStep, int] | None = None

    def told(self, step: InstallationStep, percent: int) -> None:
        tenth = percent // 10
        if self._told is None or self._told[0] is not step:
            say(f"{step.value} ...")
        elif tenth != self._told[1] and sys.stderr.isatty():
            print(f"{step.value}: {10 * tenth} %", file=sys.stderr)
        self._told = (step, tenth)


def _say_what_is_here(boards: Sequence[CarriedBoard], loaders: Sequence[BootLoader]) -> None:
    say("Boards that can be installed here:")
    for board in boards:
        source = "MicroPython and firmware" if board.dfu else "firmware; MicroPython must be on it"
        say(f"  {board.name}: {source} {board.image.shown}")
    for loader in loaders:
        say(f"In its boot loader at USB port {loader.port}: {loader.layout or 'an STM32'}")
    ports = [one for one in serial_devices() if one.usb_id and may_be_a_board(one.usb_id)]
    for device in ports:
        say(f"At {device.path}: {device.description or device.usb_id}")
    if not loaders and not ports:
        say(f"No board is plugged in.\n{_HOW}")
    say("Then: barnacle board install NAME")
