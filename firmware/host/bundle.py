"""The files that make a board: what goes where, for a real one and for the simulated one."""

import runpy
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

from agent.link.devices.device_table import ROWS
from firmware.host import board_source, describe, kind_source
from firmware.host.board_folder import described_board, described_names

FIRMWARE = Path(__file__).resolve().parents[1]
REPOSITORY = FIRMWARE.parent
FRAME = REPOSITORY / "agent" / "link" / "frame.py"


# Modules of the drivers that a small board has no room for, and of no other
_HELPERS = frozenset({"guarded", "sensirion", "stepwise"})
# Where the versions of the firmware lie, as files and frozen
_SLOTS = {False: "slots.py", True: "frozen_slots.py"}
# What divides the flash where no scripts/flash does it
_DIVISION = (
    ("node/division.py", "frozen_division.py"),
    ("small_fat.py", "prompt/small_fat.py"),
)


@dataclass(frozen=True, slots=True)
class BundledFile:
    """A file of the firmware by its path on the board."""

    target: str
    content: bytes


def board_names() -> list[str]:
    """The boards that come with a file, the simulated one included."""
    return sorted(path.stem for path in (FIRMWARE / "boards").glob("*.py"))


def every_board_name() -> list[str]:
    """Return these and the boards that have described themselves."""
    return sorted({*board_names(), *described_names()})


def board_file(name: str) -> ModuleType:
    """The board file as a module; its tables are plain data and need no board.

    A file of one's own counts before the one of that name that comes with the firmware.

    Raises:
        FileNotFoundError: there is no such board.
        BadBoardFile: the file of one's own cannot be used.
    """
    if name in described_names():
        return described_board(name)
    path = FIRMWARE / "boards" / f"{name}.py"
    if name not in board_names():
        raise FileNotFoundError(name)
    return cast("ModuleType", SimpleNamespace(**runpy.run_path(str(path))))


def bundle(name: str, *, is_frozen: bool = False) -> list[BundledFile]:
    """Every file of the firmware for that board, the generated description last.

    Args:
        is_frozen: they become a part of MicroPython: one version, and room for every driver.
    """
    board = board_file(name)
    if is_frozen:
        board = cast(
            "ModuleType",
            SimpleNamespace(**{**vars(board), "IS_SMALL": False, "IS_MIDDLING": False}),
        )
    kinds = board_source.kinds_of(board)
    left_out = {row.kind for row in ROWS} - {row.kind for row in kinds}
    left_out |= _HELPERS if left_out else frozenset()
    files = [
        BundledFile("boot.py", (FIRMWARE / "boot.py").read_bytes()),
        BundledFile("main.py", (FIRMWARE / "main.py").read_bytes()),
        BundledFile("slots.py", (FIRMWARE / _SLOTS[is_frozen]).read_bytes()),
        BundledFile("frame.py", FRAME.read_bytes()),
        BundledFile("kinds.py", kind_source.source(kinds, board_source.usable(board)).encode()),
        BundledFile("board.py", board_source.source(board).encode()),
    ]
    node = sorted(path for path in (FIRMWARE / "node").rglob("*.py") if path.stem not in left_out)
    files += [
        BundledFile(path.relative_to(FIRMWARE).as_posix(), path.read_bytes()) for path in node
    ]
    if is_frozen:
        files += [
            BundledFile(target, (FIRMWARE / source).read_bytes()) for target, source in _DIVISION
        ]
    text = describe.source(board, build_number(files))
    return [*files, BundledFile("description.py", text.encode())]


def build_number(files: list[BundledFile]) -> int:
    """The same files give the same number, whatever machine made them."""
    crc = 0
    for file in files:
        crc = zlib.crc32(file.target.encode() + b"\0" + file.content, crc)
    return crc


def lay_out(files: list[BundledFile], folder: Path) -> None:
    """Write the files as they lie on the board."""
    for file in files:
        path = folder / file.target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
