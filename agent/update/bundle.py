"""Bundle of an update: a signed manifest, then each part.

Nothing of a part is believed before the manifest's signature was; `image/lib/bundle.py` writes it.
"""

import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated

import msgspec

from agent.errors import UpdateRefused
from agent.system.programs import run_program

# Some milliseconds of work; a card that is being written may keep it from being loaded
_OPENSSL_TIMEOUT_S = 60.0


def check_signature(signed: bytes, signature: bytes, keys: Path) -> None:
    """Raise UpdateRefused unless one of the keys in the folder has signed it.

    Raises:
        UpdateRefused: none has.
    """
    known = sorted(keys.glob("*.pem"))
    if not known:
        raise UpdateRefused(
            "this system was built without a key and accepts no updates: build an image "
            "with --sign-key and write it to the card"
        )
    with tempfile.TemporaryDirectory(prefix="barnacle-update-") as folder:
        content, proof = Path(folder, "signed"), Path(folder, "signature")
        content.write_bytes(signed)
        proof.write_bytes(signature)
        if not any(_verifies(key, content, proof) for key in known):
            raise UpdateRefused("the update is not signed with a key that this system trusts")


def _verifies(key: Path, content: Path, proof: Path) -> bool:
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(key), "-rawin"]
    command += ["-in", str(content), "-sigfile", str(proof)]
    try:
        done = run_program(command, _OPENSSL_TIMEOUT_S)
    except FileNotFoundError as err:
        raise UpdateRefused(
            "openssl is not installed, so no signature can be checked: run apt-get install openssl"
        ) from err
    except subprocess.TimeoutExpired as err:
        raise UpdateRefused("openssl did not answer: try again") from err
    return done.returncode == 0


MAGIC = b"BARNACLE UPDATE 1\n"
SIGNATURE_BYTES = 64
_LENGTH_BYTES = 4
# A manifest of some twenty parts takes 4 KB
MAX_MANIFEST_BYTES = 64 * 1024
# Of one part; no slot is larger
MAX_PART_BYTES = 4 * 1024**3
# Kernel, RAM disk, command line and the device trees of every model
MAX_PARTS = 64
SYSTEM = "system"
COMMAND_LINE = "cmdline.txt"
NEEDED = frozenset({SYSTEM, COMMAND_LINE, "vmlinuz", "initrd.img"})
# Names of a FAT folder that mean the same in every letter case
_NAME = r"^[a-z0-9][a-z0-9._-]{0,63}\Z"
_VERSION = r"^[0-9]{1,6}(\.[0-9]{1,6}){1,3}\Z"

Version = Annotated[str, msgspec.Meta(pattern=_VERSION)]


class UpdatePart(msgspec.Struct, frozen=True):
    """One file of the other slot, or its system."""

    name: Annotated[str, msgspec.Meta(pattern=_NAME)]
    size_bytes: Annotated[int, msgspec.Meta(ge=1, le=MAX_PART_BYTES)]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class UpdateManifest(msgspec.Struct, frozen=True):
    """Manifest of a bundle; `needs` is the oldest version that it can update."""

    version: Version
    built_s: int
    architecture: str
    needs: Version
    parts: Annotated[tuple[UpdatePart, ...], msgspec.Meta(max_length=MAX_PARTS)]

    @property
    def boot_files(self) -> tuple[UpdatePart, ...]:
        return tuple(part for part in self.parts if part.name != SYSTEM)

    @property
    def size_bytes(self) -> int:
        return sum(part.size_bytes for part in self.parts)


class Stream:
    """Pieces of any size, read by exact counts."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    async def exactly(self, size_bytes: int) -> bytes:
        """Read an exact number of bytes into memory.

        Raises:
            UpdateRefused: there are fewer.
        """
        return b"".join([piece async for piece in self.pieces(size_bytes)])

    async def pieces(self, size_bytes: int, *, may_end: bool = False) -> AsyncIterator[bytes]:
        """Yield an exact number of bytes in pieces.

        Args:
            may_end: there may be fewer.

        Raises:
            UpdateRefused: there are fewer.
        """
        while size_bytes:
            if not self._left:
                self._left = await anext(self._pieces, b"")
                if not self._left and may_end:
                    return
                if not self._left:
                    raise UpdateRefused("the update is incomplete: download it again")
            piece, self._left = self._left[:size_bytes], self._left[size_bytes:]
            size_bytes -= len(piece)
            yield piece


async def read_header(stream: Stream) -> tuple[bytes, bytes]:
    """Read the signed part and the signature; neither is verified yet.

    Raises:
        UpdateRefused: this is no update.
    """
    begins = b"".join([piece async for piece in stream.pieces(len(MAGIC), may_end=True)])
    if begins != MAGIC:
        raise UpdateRefused("this file is not a Barnacle update, or it is for a much later version")
    size_bytes = int.from_bytes(await stream.exactly(_LENGTH_BYTES), "big")
    if size_bytes > MAX_MANIFEST_BYTES:
        raise UpdateRefused("the update is damaged: its list of parts is too long")
    signature = await stream.exactly(SIGNATURE_BYTES)
    return MAGIC + await stream.exactly(size_bytes), signature


def manifest_of(signed: bytes) -> UpdateManifest:
    """The manifest in what was signed.

    Raises:
        UpdateRefused: it cannot be used.
    """
    try:
        manifest = msgspec.json.decode(signed.removeprefix(MAGIC), type=UpdateManifest)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as err:
        raise UpdateRefused(f"cannot read the update's list of parts: {err}") from err
    names = [part.name for part in manifest.parts]
    if len(set(names)) < len(names) or not NEEDED.issubset(names):
        raise UpdateRefused("the update's list of parts is incomplete")
    return manifest


def order(version: str, built_s: int) -> tuple[tuple[int, ...], int]:
    """Later versions are greater; of one version, the one that was built later."""
    numbers = [int(number) for number in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), built_s
