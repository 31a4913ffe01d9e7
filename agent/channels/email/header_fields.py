"""Header fields of a letter, split strictly: what two programs could split in two ways is refused.

Nothing is decoded: an encoded word is the letters that it is written with.
"""

import re

from msgspec import Struct

# Real letters have some ten kilobytes of them
MAX_HEADER_BYTES = 256 * 1024
MAX_FIELDS = 500
_FIELD = re.compile(r"([!-9;-~]+):(.*)", re.DOTALL)


class UnclearHeader(ValueError):
    """Programs differ in what they read here."""


class HeaderField(Struct, frozen=True):
    """One field.

    Args:
        name: in lower case.
        value: on one line, as it was written.
    """

    name: str
    value: str


def split_header(raw: bytes) -> tuple[HeaderField, ...]:
    """Return the fields of a letter, the topmost first.

    Raises:
        UnclearHeader: a line is no field, or its end is not clear.
    """
    unfolded: list[str] = []
    for line in _header(raw).split("\n"):
        if line[:1] not in {" ", "\t"}:
            unfolded.append(line)
        elif unfolded and line.strip(" \t"):
            unfolded[-1] += line
        else:
            raise UnclearHeader("a line continues nothing")
    if len(unfolded) > MAX_FIELDS:
        raise UnclearHeader(f"it has more than {MAX_FIELDS} header fields")
    return tuple(_field(line) for line in unfolded if line)


def _header(raw: bytes) -> str:
    start = raw[:MAX_HEADER_BYTES].replace(b"\r\n", b"\n")
    head, end, _ = start.partition(b"\n\n")
    if not end and len(raw) > MAX_HEADER_BYTES:
        raise UnclearHeader("its header does not end")
    if b"\r" in head or b"\0" in head:
        raise UnclearHeader("a line of its header ends in an odd way")
    return head.removesuffix(b"\n").decode("utf-8", "surrogateescape")


def _field(line: str) -> HeaderField:
    found = _FIELD.fullmatch(line)
    if found is None:
        raise UnclearHeader("a line of its header is no field")
    return HeaderField(found[1].lower(), found[2])
