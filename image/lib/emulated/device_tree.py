"""The emulated machine's description, with the entries by which programs know a Raspberry Pi."""

import shutil
import struct
import subprocess
from pathlib import Path

# A Pi 3 B of 1 GB, in the form of the Pi's own boot loader
_REVISION = 0xA02082
_BEGIN_NODE, _END_NODE, _PROPERTY = 1, 2, 3
_HEADER = struct.Struct(">10I")
_NAME = b"linux,revision\0"
# What the machine is compatible with: QEMU's own word, and a Pi 3 B's
_QEMU_S, _A_PIS = b"linux,dummy-virt\0", b"raspberrypi,3-model-b\0brcm,bcm2837\0"
QEMU = shutil.which("qemu-system-aarch64")


def of_a_pi(machine: list[str], work: Path, *, by_name: bool) -> Path:
    """A tree for `-dtb`: QEMU's own one and the board's revision.

    Args:
        by_name: it is also called a Raspberry Pi.
    """
    plain, made = work / "plain.dtb", work / "machine.dtb"
    command = [*machine]
    command[command.index("-M") + 1] += f",dumpdtb={plain}"
    subprocess.run([*command, "-display", "none"], check=True, capture_output=True)
    made.write_bytes(_added(plain.read_bytes(), by_name=by_name))
    return made


def _added(tree: bytes, *, by_name: bool) -> bytes:
    magic, _, structs, strings, reserved, *rest = _HEADER.unpack_from(tree)
    version, oldest, processor, strings_size, structs_size = rest
    nodes = tree[structs : structs + structs_size]
    words = tree[strings : strings + strings_size]
    # Before the end of the root node, which is the last but one word
    inside, end = nodes[: nodes.rindex(struct.pack(">2I", _END_NODE, 9))], nodes[-8:]
    if by_name:
        named = words.index(b"compatible\0")
        inside = inside.replace(_property(named, _QEMU_S), _property(named, _A_PIS), 1)
    node = struct.pack(">I", _BEGIN_NODE) + b"system\0\0"
    node += _property(len(words), struct.pack(">I", _REVISION))
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


def _property(name: int, value: bytes) -> bytes:
    return struct.pack(">3I", _PROPERTY, len(value), name) + value + b"\0" * (-len(value) % 4)
