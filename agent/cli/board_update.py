"""`barnacle board update`: the firmware that came with this agent, onto the board."""

import sys
from argparse import Namespace
from pathlib import Path

from agent.cli import exits
from agent.cli.output import say
from agent.errors import LinkLost
from agent.link.base import Board
from agent.link.image import FirmwareImage, carried_for, read_image
from agent.link.update import Updater
from agent.system.clock import SystemClock

# Flash of this class is erased and written through a cache that a power cut can lose
_NO_PROMISE = "fat-16k"


async def run(board: Board, arguments: Namespace) -> int:
    identity = board.status.identity
    if identity is None:
        raise LinkLost("the board has not identified itself")
    image = read_image(Path(arguments.image)) if arguments.image else carried_for(identity)
    if image is None:
        raise LinkLost(
            f"no firmware for {identity.board} in this installation: in a checkout, "
            "scripts/flash --images builds it"
        )
    if image.about.build == identity.build and not arguments.force:
        say(f"{identity.board} already runs firmware {image.shown}")
        return exits.OK
    if identity.flash_class == _NO_PROMISE:
        _note("keep the power on: a power cut during the write can destroy the files on this board")
    say(await Updater(board, image, SystemClock(), _Progress(image)).run())
    return exits.OK


class _Progress:
    """Says every tenth once, and only to a person."""

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
