"""Firmware images: what an update sends, and which of them this agent carries.

An image says itself for which board it is and which build; `firmware/host/image.py` makes it.
"""

import hashlib
import struct
import zlib
from pathlib import Path

import msgspec

from agent.errors import BarnacleError
from agent.link.base import BoardIdentity
from agent.text.printable import printable_line

# Beside the modules of the agent, so that it is installed with them
CARRIED = Path(__file__).resolve().parents[1] / "firmware"
SUFFIX = ".fw"
# More than the flash of any supported board has room for
MAX_IMAGE_BYTES = 512 * 1024
_ABOUT = b"about.json"
_MAX_ABOUT_BYTES = 1_024
_MAX_NAME_CHARS = 48


class BadImage(BarnacleError):
    """A file that is no firmware image; the text says why."""


class ImageDescription(msgspec.Struct, frozen=True):
    """Description inside a firmware image.

    Args:
        frozen_build: the build of the same firmware where it is frozen into MicroPython.
    """

    board: str
    build: int
    version: tuple[int, int, int] = (0, 0, 0)
    frozen_build: int = -1


class FirmwareImage(msgspec.Struct, frozen=True):
    """One version of the firmware for one board."""

    about: ImageDescription
    content: bytes

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.content).digest()

    @property
    def shown(self) -> str:
        version = ".".join(str(part) for part in self.about.version)
        return f"{version} (build {self.about.build})"


def read_image(path: Path) -> FirmwareImage:
    """The image in that file.

    Raises:
        BadImage: there is none.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_IMAGE_BYTES + 1)
    except OSError as err:
        raise BadImage(f"{path}: {err.strerror}") from err
    if len(content) > MAX_IMAGE_BYTES:
        raise BadImage(f"{path} is too large for a firmware image")
    try:
        about = msgspec.json.decode(_first_file(content), type=ImageDescription)
    except (ValueError, struct.error, zlib.error, msgspec.MsgspecError) as err:
        raise BadImage(f"{path} is not a firmware image") from err
    return FirmwareImage(about, content)


def carried_for(identity: BoardIdentity, folder: Path = CARRIED) -> FirmwareImage | None:
    """The image that this agent carries for the board, if it does."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            image = read_image(path)
        except BadImage:
            continue
        if image.about.board == identity.board:
            return image
    return None


def offer(identity: BoardIdentity, folder: Path = CARRIED) -> str:
    """A sentence when the agent carries something else than the board runs, and not older."""
    image = carried_for(identity, folder)
    if image is None or identity.build in {image.about.build, image.about.frozen_build}:
        return ""
    if image.about.version < version_of(identity.firmware):
        return ""
    name = printable_line(identity.board, _MAX_NAME_CHARS)
    return (
        f"firmware {image.shown} is available for {name}: install it with `barnacle board update`"
    )


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def read_archive(content: bytes, most_bytes: int) -> dict[str, bytes]:
    """Return the files that are joined as those of an image are, by name.

    Raises:
        ValueError, struct.error, zlib.error: they are not.
    """
    entries, at = _index(content)
    found = {}
    for name, size in entries:
        packed = content[at : at + size]
        found[name.decode()] = zlib.decompressobj().decompress(packed, most_bytes)
        at += size
    return found


def _index(content: bytes) -> tuple[list[tuple[bytes, int]], int]:
    """Return name and packed size of each file, and where the first one begins."""
    (count,) = struct.unpack_from("<H", content)
    at, entries = 2, []
    for _ in range(count):
        size, name_bytes = struct.unpack_from("<IB", content, at)
        at += 5 + name_bytes
        entries.append((content[at - name_bytes : at], size))
    return entries, at


def _first_file(content: bytes) -> bytes:
    # The index comes first; its first entry says what the image is
    entries, at = _index(content)
    if entries and entries[0][0] != _ABOUT:
        raise ValueError("the image does not begin with its description")
    size = entries[0][1] if entries else 0
    return zlib.decompressobj().decompress(content[at : at + size], _MAX_ABOUT_BYTES)
