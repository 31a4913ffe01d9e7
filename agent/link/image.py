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


def _first_file(content: bytes) -> bytes:
    # The index comes first; its first entry says what the image is
    (count,) = struct.unpack_from("<H", content)
    at = 2
    size = 0
    for number in range(count):
        length, name_bytes = struct.unpack_from("<IB", content, at)
        if number == 0:
            if content[at + 5 : at + 5 + name_bytes] != _ABOUT:
                raise ValueError("the image does not begin with its description")
            size = length
        at += 5 + name_bytes
    return zlib.decompressobj().decompress(content[at : at + size], _MAX_ABOUT_BYTES)
