"""Format and size of a picture, read from its header; nothing is decoded here.

A header may say anything: what says more pixels than anybody can show is refused by that word.
"""

import struct
from collections.abc import Callable
from typing import BinaryIO

from msgspec import Struct

from agent.errors import BarnacleError

# A camera of a phone has fewer; decoded, this is 200 MB
MAX_PIXELS = 50_000_000
# Of a JPEG before its size: previews, profiles and comments of 64 KB each
MAX_SEGMENTS = 200
# As much as any of the fixed headers needs
_BEGINNING_BYTES = 64

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
# Frames of a JPEG that begin with its size; the codes between them are tables
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Markers that stand alone: restarts, and one for private use
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_SCAN, _END = 0xDA, 0xD9

Size = tuple[int, int]


class NoPicture(BarnacleError):
    """The file is no picture of a known format, or it is damaged or too large."""


class PictureHeader(Struct, frozen=True):
    """Format and size from a picture's header."""

    kind: str
    width: int
    height: int


def header_of(file: BinaryIO) -> PictureHeader:
    """Return format and size of an open picture.

    Raises:
        NoPicture: in words.
    """
    start = file.read(_BEGINNING_BYTES)
    kind, size_of = _format_of(start)
    try:
        width, height = _jpeg_size(file) if kind == "jpeg" else size_of(start)
    except (struct.error, IndexError) as err:
        raise NoPicture(f"this {kind} picture is damaged: its header ends too early") from err
    if width < 1 or height < 1:
        raise NoPicture(f"this {kind} picture has no size")
    if width * height > MAX_PIXELS:
        raise NoPicture(
            f"this {kind} picture says it has {width} x {height} pixels: more than {MAX_PIXELS} "
            "are never opened"
        )
    return PictureHeader(kind, width, height)


def _format_of(start: bytes) -> tuple[str, Callable[[bytes], Size]]:
    if start.startswith(_PNG) and start[12:16] == b"IHDR":
        return "png", lambda head: _unpack(">II", head, 16)
    if start.startswith(_JPEG):
        return "jpeg", lambda _: (0, 0)
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "gif", lambda head: _unpack("<HH", head, 6)
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "webp", _webp_size
    if start.startswith(b"BM"):
        return "bmp", _bmp_size
    raise NoPicture("this is not a PNG, JPEG, GIF, WebP or BMP picture")


def _unpack(layout: str, head: bytes, at: int) -> Size:
    first, second = struct.unpack_from(layout, head, at)
    return first, second


def _bmp_size(head: bytes) -> Size:
    (header_bytes,) = struct.unpack_from("<I", head, 14)
    if header_bytes == 12:  # noqa: PLR2004 - the first version of the format, of OS/2
        return _unpack("<HH", head, 18)
    width, height = _unpack("<ii", head, 18)
    # A negative height is a picture that is stored from the top
    return width, abs(height)


def _webp_size(head: bytes) -> Size:
    match head[12:16]:
        case b"VP8 " if head[23:26] == b"\x9d\x01\x2a":
            width, height = _unpack("<HH", head, 26)
            # The two highest bits are a scale that nobody uses
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L" if head[20] == 0x2F:  # noqa: PLR2004 - the signature of this form
            (bits,) = struct.unpack_from("<I", head, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(head) >= 30:  # noqa: PLR2004 - as long as this header is
            return int.from_bytes(head[24:27], "little") + 1, (
                int.from_bytes(head[27:30], "little") + 1
            )
    raise NoPicture("this webp picture is damaged: its header has an unknown form")


def _jpeg_size(file: BinaryIO) -> Size:
    file.seek(2)
    for _ in range(MAX_SEGMENTS):
        marker = _next_marker(file)
        if marker in _ALONE:
            continue
        if marker in {_SCAN, _END}:
            break
        (length,) = struct.unpack(">H", file.read(2))
        if marker in _FRAMES:
            _, height, width = struct.unpack(">BHH", file.read(5))
            return width, height
        # The two bytes of the length count; a shorter one would stand still
        file.seek(max(length, 2) - 2, 1)
    raise NoPicture("this jpeg picture is damaged: it has no size")


def _next_marker(file: BinaryIO) -> int:
    if file.read(1) != b"\xff":
        raise NoPicture("this jpeg picture is damaged: a segment does not begin where it should")
    # Any number of fill bytes may stand before a marker; more than these are an attack
    for _ in range(_BEGINNING_BYTES):
        if (code := file.read(1)[0]) != 0xFF:  # noqa: PLR2004 - the fill byte
            return code
    raise NoPicture("this jpeg picture is damaged: it has too many fill bytes")
