"""Boards that this installation can make from blank: MicroPython as DFU files, and our firmware.

The firmware comes with the agent. MicroPython is somebody else's work: `image/build --board` puts
it onto a card, with its hash and licence beside it.
"""

import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.blank.board_state import Unsuitable
from agent.blank.dfu import DFU, FOLDER, INDEX, BadDfu, Element, read_dfu
from agent.errors import BarnacleError
from agent.link.image import CARRIED, SUFFIX, BadImage, FirmwareImage, read_archive, read_image

# Beside each image: the programs that start it, and the head of the slot that it lies in
START_SUFFIX = ".start"
SLOT = "slot_a"
_MAX_START_BYTES = 64 * 1024
_ABOUT = "about.json"
_HEAD = "slot_head"
# What starts last is put there last
MAIN = "main.py"


class NotCarried(BarnacleError):
    """A board that cannot be made from blank here; the text says what to do."""


class BoardFile(Struct, frozen=True):
    """A file of the firmware by its path on the board."""

    target: str
    content: bytes


class DfuEntry(Struct, frozen=True):
    """MicroPython for one board, as the card's index has it."""

    sha256: str
    bytes: int


class _Start(Struct, frozen=True):
    """Description inside an archive of start programs."""

    machines: tuple[str, ...] = ()


class CarriedBoard(Struct, frozen=True):
    """One board: its firmware as it is installed, and MicroPython where the card has it.

    Args:
        name: as `--board` takes it.
        machines: what its MicroPython may call itself.
    """

    name: str
    image: FirmwareImage
    files: tuple[BoardFile, ...]
    machines: tuple[str, ...]
    dfu: DfuEntry | None = None

    def is_called(self, machine: str) -> bool:
        """Return true if MicroPython of that name may be this board's."""
        return _is_called(machine, (*self.machines, self.name))

    @property
    def builds(self) -> frozenset[int]:
        """Return the build numbers that it may greet with."""
        return frozenset({self.image.about.build, self.image.about.frozen_build})


def carried_boards(firmware: Path = CARRIED, folder: Path = FOLDER) -> tuple[CarriedBoard, ...]:
    """Return every board whose firmware came with this agent."""
    index = read_index(folder)
    found = []
    for path in sorted(firmware.glob(f"*{START_SUFFIX}")):
        try:
            image = read_image(path.with_suffix(SUFFIX))
            about, files = _started(path, image)
        except BadImage:
            continue
        found.append(CarriedBoard(path.stem, image, files, about.machines, index.get(path.stem)))
    return tuple(found)


def chosen_board(name: str, boards: Sequence[CarriedBoard]) -> CarriedBoard:
    """Return the board of that name.

    Raises:
        NotCarried: there is none.
    """
    wanted = _letters(name)
    for board in boards:
        if wanted in {_letters(board.name), _letters(board.image.about.board)}:
            return board
    known = ", ".join(board.name for board in boards) or "none: scripts/flash --images makes them"
    raise NotCarried(f"no firmware for a board named {name} is here; there are {known}")


def require_called(name: str, machine: str, boards: Mapping[str, Sequence[str]]) -> None:
    """Judge what a board's MicroPython calls itself, before anything on it is changed.

    Args:
        name: the board that it is taken for.
        machine: what it calls itself; a build of one's own may say anything.
        boards: known boards, and what MicroPython for each may call itself.

    Raises:
        Unsuitable: that is another known board.
    """
    if not boards.get(name) or _is_called(machine, (*boards[name], name)):
        return
    for other, machines in boards.items():
        if _is_called(machine, (*machines, other)):
            raise Unsuitable(
                f"it is a {other}, not a {name} (its MicroPython calls itself {machine}): name the "
                "board that is there, or another port"
            )


def read_index(folder: Path = FOLDER) -> dict[str, DfuEntry]:
    """Return what the card has of MicroPython; nothing where there is no such folder."""
    try:
        return msgspec.json.decode((folder / INDEX).read_bytes(), type=dict[str, DfuEntry])
    except (OSError, msgspec.MsgspecError):
        return {}


def checked_dfu(name: str, folder: Path = FOLDER) -> tuple[Path, tuple[Element, ...]]:
    """Return the DFU file of a board and its pieces, as they were when the card was made.

    Raises:
        NotCarried: there is none.
        BadDfu: it is damaged.
    """
    entry = read_index(folder).get(name)
    if entry is None:
        raise NotCarried(
            f"this card has no MicroPython for {name}: build it with `image/build --board "
            f"{name}=FILE`, or put MicroPython onto the board on a PC (firmware/README.md)"
        )
    path = folder / f"{name}{DFU}"
    try:
        content = path.read_bytes()
    except OSError as err:
        raise BadDfu(f"{path}: {err.strerror}") from err
    if hashlib.sha256(content).hexdigest() != entry.sha256:
        raise BadDfu(f"{path} is damaged: its hash is not the one of {INDEX}; write the card anew")
    return path, read_dfu(content)


def _started(path: Path, image: FirmwareImage) -> tuple[_Start, tuple[BoardFile, ...]]:
    try:
        files = read_archive(path.read_bytes(), _MAX_START_BYTES)
        about = msgspec.json.decode(files.pop(_ABOUT), type=_Start)
        head = files.pop(_HEAD)
        main = files.pop(MAIN)
    except (OSError, KeyError, ValueError, struct.error, zlib.error) as err:
        raise BadImage(f"{path} holds no start programs") from err
    slot = BoardFile(SLOT, head + image.content)
    others = [BoardFile(name, content) for name, content in files.items()]
    return about, (slot, *others, BoardFile(MAIN, main))


def _is_called(machine: str, names: Iterable[str]) -> bool:
    said = _letters(machine.partition(" with ")[0])
    return any(_letters(one) == said for one in names)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
