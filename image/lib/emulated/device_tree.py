"""The emulated machine's description, with the one entry by which programs know a Raspberry Pi."""

import shutil
import struct
import subprocess
from pathlib import Path

# A Pi 3 B of 1 GB, in the form of the Pi's own boot loader
_REVISION = 0xA02082
_BEGIN_NODE, _END_NODE, _PROPERTY = 1, 2, 3
_HEADER = struct.Struct(">10I")
_NAME = b"linux,revision\0"
QEMU = shutil.which("qemu-system-aarch64")


def with_revision(machine: list[str], work: Path) -> Path:
    """A tree for `-dtb`: QEMU's own one and the board's revision."""
    plain, made = work / "plain.dtb", work / "machine.dtb"
    command = [*machine]
    command[command.index("-M") + 1] += f",dumpdtb={plain}"
    subprocess.run([*command, "-display", "none"], check=True, capture_output=True)
    made.write_bytes(_added(plain.read_bytes()))
    return made


def _added(tree: bytes) -> bytes:
    magic, _, structs, strings, reserved, *rest = _HEADER.unpack_from(tree)
    version, oldest, processor, strings_size, structs_size = rest
    nodes = tree[structs : structs + structs_size]
    words = tree[strings : strings + strings_size]
    # Before the end of the root node, which is the last but one word
    inside, end = nodes[: nodes.rindex(struct.pack(">2I", _END_NODE, 9))], nodes[-8:]
    node = struct.pack(">I", _BEGIN_NODE) + b"system\0\0"
    node += struct.pack(">4I", _PROPERTY, 4, len(words), _REVISION)
    nodes = inside + node + struct.pack(">I", _END_NODE) + end
    words += _NAME
    # The list of reserved memory stays where it was, before everything else
    head = tree[_HEADER.size : structs]
    at = structs + len(nodes)
    header = _HEADER.pack(
        *(magic, at + len(words), structs, at, reserved),
        *(version, oldest, processor, len(words), len(nodes)),
    )
    return header + head + nodes + words
