"""Bytes as arguments and results: what a person or a model writes and reads for them.

On the wire they are their number and themselves. Shown they are hex, or text in which everything
that cannot be printed is an escape, so that nothing a device says can do anything but be read.
"""

import re

from agent.errors import CallRefused
from agent.link.base import Value
from agent.link.manifest import MAX_BYTES, Field
from agent.passage import echo

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_NAMED = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}
_PRINTABLE = range(0x20, 0x7F)
# What separates bytes when people write them
_BETWEEN = re.compile(r"0x|[\s,:]+")


class CutOff(ValueError):
    """There are fewer bytes than there should be."""


def limit_of(field: Field) -> int:
    """The largest number of bytes that the field may have."""
    return MAX_BYTES if field.maximum is None else max(1, min(MAX_BYTES, int(field.maximum)))


def pack(field: Field, value: Value) -> bytes:
    """The bytes as they go over the wire.

    Raises:
        CallRefused: they are not written as they should be, or too many.
    """
    data = _from_text(str(value)) if field.text else _from_hex(field, str(value))
    if not 1 <= len(data) <= limit_of(field):
        raise CallRefused("out_of_range", echo(f"{field.name} has 1 to {limit_of(field)} bytes"))
    return bytes([len(data)]) + data


def unpack(field: Field, payload: bytes) -> tuple[str, int]:
    """Return the octets as text, and the number of payload bytes they took.

    Raises:
        CutOff: there are fewer than the length says.
    """
    if not payload or len(payload) < 1 + payload[0]:
        raise CutOff
    data = payload[1 : 1 + payload[0]]
    return (_as_text(data) if field.text else data.hex(" ")), 1 + len(data)


def _from_hex(field: Field, written: str) -> bytes:
    try:
        return bytes.fromhex(_BETWEEN.sub(" ", written))
    except ValueError as err:
        raise CallRefused(
            "bad_request", echo(f"{field.name} is bytes in hex, such as 1f a0")
        ) from err


def _from_text(written: str) -> bytes:
    parts = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(written):
        parts += written[at : escape.start()].encode(errors="replace")
        number, name = escape.groups()
        # What is no escape of ours means itself
        plain = escape.group().encode(errors="replace")
        parts += bytes([int(number, 16)]) if number else _NAMED.get(name, plain)
        at = escape.end()
    return bytes(parts + written[at:].encode(errors="replace"))


def _as_text(data: bytes) -> str:
    return "".join(_shown(byte) for byte in data)


def _shown(byte: int) -> str:
    if byte == ord("\\"):
        return "\\\\"
    for name, plain in _NAMED.items():
        if plain == bytes([byte]):
            return f"\\{name}"
    return chr(byte) if byte in _PRINTABLE else f"\\x{byte:02x}"
