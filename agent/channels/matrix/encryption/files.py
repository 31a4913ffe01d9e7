"""Encryption of files in encrypted rooms."""

import hashlib
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from msgspec import Struct

from agent.channels.matrix.encryption.signatures import unpadded, unpadded_bytes, unpadded_url
from agent.errors import ChannelUnavailable

_KEY_BYTES = 32
_BLOCK_BYTES = 16


class FileKey(Struct, frozen=True):
    """Keys of one file, and its hash.

    Args:
        sha256: of the sealed file.
    """

    key: bytes
    start: bytes
    sha256: bytes = b""

    def cipher(self) -> CipherContext:
        # Counting over bytes is its own inverse
        return Cipher(algorithms.AES(self.key), modes.CTR(self.start)).encryptor()


class FileEncryption:
    """Encryption of one file while it is sent."""

    def __init__(self) -> None:
        # The second half counts
        start = secrets.token_bytes(_BLOCK_BYTES // 2) + bytes(_BLOCK_BYTES // 2)
        self._seal = FileKey(secrets.token_bytes(_KEY_BYTES), start)
        self._hash = hashlib.sha256()

    async def sealed(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        cipher = self._seal.cipher()
        async for piece in pieces:
            done = cipher.update(piece)
            self._hash.update(done)
            yield done

    def told(self, address: str) -> dict[str, object]:
        """Return the event's fields for the file at `address`, once all of it is sealed."""
        key = {
            "kty": "oct",
            "alg": "A256CTR",
            "k": unpadded_url(self._seal.key),
            "key_ops": ["encrypt", "decrypt"],
            "ext": True,
        }
        hashes = {"sha256": unpadded(self._hash.digest())}
        start = unpadded(self._seal.start)
        return {"v": "v2", "url": address, "key": key, "iv": start, "hashes": hashes}


def seal_in(told: dict[str, Any]) -> FileKey | None:
    """Return an event's keys of a file; None if they cannot be used."""
    key, hashes = told.get("key"), told.get("hashes")
    try:
        seal = FileKey(
            unpadded_bytes(key["k"]),  # type: ignore[index]  # whatever it is: see below
            unpadded_bytes(told["iv"]),
            unpadded_bytes(hashes["sha256"]),  # type: ignore[index]  # as above
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    sizes = (len(seal.key), len(seal.start), len(seal.sha256))
    return seal if sizes == (_KEY_BYTES, _BLOCK_BYTES, hashlib.sha256().digest_size) else None


async def opened(pieces: AsyncIterator[bytes], seal: FileKey) -> AsyncGenerator[bytes, None]:
    """Yield the decrypted file; the last piece only if the hash is right.

    Raises:
        ChannelUnavailable: it is not the file that was sent.
    """
    cipher, found = seal.cipher(), hashlib.sha256()
    async for piece in pieces:
        found.update(piece)
        yield cipher.update(piece)
    if found.digest() != seal.sha256:
        raise ChannelUnavailable("the file does not match its hash")
