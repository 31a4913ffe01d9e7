"""Code of a board that has the firmware frozen in, for an interpreter that measures its memory.

In a build of MicroPython that code and its names lie in flash. `firmware/simulator/bare/rom.py`
puts both of them into the interpreter before it counts, and has the code run where it lies.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from mpremote.romfs import VfsRomWriter  # type: ignore[import-untyped]  # it ships no types

from firmware.host.bundle import BundledFile, lay_out
from firmware.host.compiler import AS_SOURCE, sources_for_board


def lay_out_frozen(files: list[BundledFile], sources: list[BundledFile], folder: Path) -> None:
    """Write the compiled files in one piece, and the names that are in it."""
    (folder / "rom").write_bytes(_rom(files))
    # It has none, and nobody asks for it
    (folder / "slot_a").write_bytes(b"\0")
    lay_out([file for file in files if file.target in AS_SOURCE], folder)
    names = {
        name
        for file in sources_for_board(sources)
        for node in ast.walk(ast.parse(file.content))
        for name in _names_of(node)
    }
    (folder / "names").write_text("".join(f"{name}\n" for name in sorted(names)))


def _rom(files: list[BundledFile]) -> bytes:
    """Return the files as a file system that MicroPython runs where it lies."""
    writer = VfsRomWriter()
    folders: dict[str, list[BundledFile]] = {}
    for file in files:
        folders.setdefault(file.target.rpartition("/")[0], []).append(file)
    # "node" and its "node/devices", and what is beside them
    writer.opendir("node")
    writer.opendir("devices")
    for path in ("node/devices", "node"):
        for file in folders.pop(path):
            writer.mkfile(file.target.rpartition("/")[2], file.content)
        writer.closedir()
    for file in folders.pop(""):
        writer.mkfile(file.target, file.content)
    return bytes(writer.finalise())


def _names_of(node: ast.AST) -> Iterator[str]:
    """Yield what MicroPython keeps as a name of that part of a program."""
    for field in ("id", "attr", "arg", "name", "module", "value"):
        found = getattr(node, field, None)
        if isinstance(found, str) and found and found.isprintable():
            yield found
