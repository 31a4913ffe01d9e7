"""`barnacle board update`: the firmware that came with this agent, onto the board."""

import sys
from argparse import Namespace
from pathlib import Path

from agent.cli import exits
from agent.cli.output import say
from agent.clock import SystemClock
from agent.errors import LinkLost
from agent.link.base import Board
from agent.link.image import Image, carried_for, read_image
from agent.link.update import Updater

# Flash of this class is erased and written through a cache that a power cut can lose
_NO_PROMISE = "fat-16k"


async def run(board: Board, arguments: Namespace) -> int:
    identity = board.status.identity
    if identity is None:
        raise LinkLost("the board has not said what it is")
    image = read_image(Path(arguments.image)) if arguments.image else carried_for(identity)
    if image is None:
        raise LinkLost(
            f"this agent carries no firmware for {identity.board}: "
            "scripts/flash --images makes it in a checkout"
        )
    if image.about.build == identity.build and not arguments.force:
        say(f"{identity.board} already runs firmware {image.shown}")
        return exits.OK
    if identity.flash_class == _NO_PROMISE:
        _note("keep the power on: a cut in the middle of a write can cost this board its files")
    say(await Updater(board, image, SystemClock(), _Progress(image)).run())
    return exits.OK


class _Progress:
    """Says every tenth once, and only to a person."""

    def __init__(self, image: Image) -> None:
        self._told = -1
        self._shown = image.shown

    def __call__(self, sent: int, total: int) -> None:
        tenth = 10 * sent // total
        if tenth != self._told and sys.stderr.isatty():
            self._told = tenth
            _note(f"sending firmware {self._shown}: {10 * tenth} %")


def _note(line: str) -> None:
    print(line, file=sys.stderr)
