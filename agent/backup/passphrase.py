"""The age format for a passphrase, in pieces of 64 KiB: https://age-encryption.org/v1.

pyrage encrypts to a passphrase only what is in memory as a whole, and derives the key with as much
memory as the machine is fast: more than a Pi with 512 MB has. Here the work is fixed.
"""

import base64
import hashlib
import hmac
import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from agent.errors import BackupRefused

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

# A call that returns at most so many bytes, and none at the end
Read = Callable[[int], bytes]
Write = Callable[[bytes], object]

# The key costs 2**16 * 1024 bytes: 64 MB beside an agent on a Pi with 512 MB
WORK_FACTOR = 16
# What other programs may have chosen; one more takes 2 GB
_MOST_WORK = 20
_BLOCK, _LANES = 8, 1
_PIECE_BYTES, _TAG_BYTES, _KEY_BYTES, _SALT_BYTES, _NONCE_BYTES = 65536, 16, 16, 16, 16
_INTRODUCTION = b"age-encryption.org/v1\n"
_LABEL = b"age-encryption.org/v1/scrypt"
_HEADER = re.compile(
    re.escape(_INTRODUCTION)
    + rb"-> scrypt (?P<salt>[A-Za-z0-9+/]{22}) (?P<work>[1-9][0-9]?)\n"
    + rb"(?P<body>[A-Za-z0-9+/]{43})\n--- (?P<code>[A-Za-z0-9+/]{43})\n"
)
# Longer than any header of a passphrase
HEADER_BYTES = 256
_WRONG = "the passphrase is wrong, or the beginning of the file was changed"
_CUT = "the file ends too early or was changed"


def is_for_passphrase(beginning: bytes) -> bool:
    """Return true if a file that begins so was encrypted to a passphrase."""
    return beginning.startswith(_INTRODUCTION + b"-> scrypt ")


def encrypt(read: Read, write: Write, passphrase: str, work: int = WORK_FACTOR) -> None:
    """Encrypt everything that `read` gives."""
    key, salt, nonce = (os.urandom(size) for size in (_KEY_BYTES, _SALT_BYTES, _NONCE_BYTES))
    body = _cipher(_wrapping_key(passphrase, salt, work)).encrypt(bytes(12), key, None)
    stanza = b"-> scrypt %s %d\n%s\n---" % (_encoded(salt), work, _encoded(body))
    header = _INTRODUCTION + stanza
    write(b"%s %s\n%s" % (header, _encoded(_code(key, header)), nonce))
    cipher = _cipher(_derived(key, nonce, b"payload"))
    piece, number = filled(read, _PIECE_BYTES), 0
    while len(piece) == _PIECE_BYTES and (following := filled(read, _PIECE_BYTES)):
        write(cipher.encrypt(_counter(number, is_last=False), piece, None))
        piece, number = following, number + 1
    write(cipher.encrypt(_counter(number, is_last=True), piece, None))


def decrypt(read: Read, write: Write, passphrase: str) -> None:
    """Decrypt a file; nothing is written of a piece that was changed.

    Raises:
        BackupRefused: the passphrase is wrong, or the file is damaged.
    """
    beginning = filled(read, HEADER_BYTES)
    match = _HEADER.match(beginning)
    if match is None:
        raise BackupRefused("this is no file that was encrypted to a passphrase")
    key = _file_key(match, passphrase)
    header = beginning[: match.start("code") - 1]
    if not hmac.compare_digest(_code(key, header), _decoded(match["code"])):
        raise BackupRefused(_CUT)
    rest = beginning[match.end() :]
    cipher = _cipher(_derived(key, rest[:_NONCE_BYTES], b"payload"))
    for plain in _pieces(joined(rest[_NONCE_BYTES:], read), cipher):
        write(plain)


def _pieces(read: Read, cipher: "ChaCha20Poly1305") -> Iterator[bytes]:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra, loaded where used

    size = _PIECE_BYTES + _TAG_BYTES
    piece, number = filled(read, size), 0
    while True:
        following = filled(read, size) if len(piece) == size else b""
        try:
            yield cipher.decrypt(_counter(number, is_last=not following), piece, None)
        except InvalidTag as err:
            raise BackupRefused(_CUT) from err
        if not following:
            return
        piece, number = following, number + 1


def _file_key(match: re.Match[bytes], passphrase: str) -> bytes:
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

    work = int(match["work"])
    if work > _MOST_WORK:
        raise BackupRefused(f"its passphrase takes {2**work // 1024} MB to check: too much")
    wrapping = _wrapping_key(passphrase, _decoded(match["salt"]), work)
    try:
        return _cipher(wrapping).decrypt(bytes(12), _decoded(match["body"]), None)
    except InvalidTag as err:
        raise BackupRefused(_WRONG) from err


def _wrapping_key(passphrase: str, salt: bytes, work: int) -> bytes:
    cost = 2**work
    memory_bytes = 128 * _BLOCK * cost
    try:
        return hashlib.scrypt(
            passphrase.encode(),
            salt=_LABEL + salt,
            n=cost,
            r=_BLOCK,
            p=_LANES,
            # With what OpenSSL needs besides
            maxmem=memory_bytes + 1024 * 1024,
            dklen=32,
        )
    except (MemoryError, ValueError) as err:
        raise BackupRefused(
            f"checking the passphrase takes {memory_bytes // 1024**2} MB of memory, which are not "
            "free: stop other programs, or do it on a larger machine"
        ) from err


def _derived(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    """Return a key for one purpose: HKDF with SHA-256."""
    extracted = hmac.digest(salt or bytes(32), key, "sha256")
    return hmac.digest(extracted, purpose + b"\x01", "sha256")


def _code(key: bytes, header: bytes) -> bytes:
    return hmac.digest(_derived(key, b"", b"header"), header, "sha256")


def _counter(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


def filled(read: Read, size: int) -> bytes:
    """Return so many bytes; fewer only at the end."""
    held = b""
    while len(held) < size and (more := read(size - len(held))):
        held += more
    return held


def joined(beginning: bytes, read: Read) -> Read:
    """Return a reader of what was read already and of the rest; a size below 0 has no limit."""
    left = beginning

    def read_on(size: int) -> bytes:
        nonlocal left
        if not left:
            return read(size)
        piece, left = (left, b"") if size < 0 else (left[:size], left[size:])
        return piece

    return read_on


def _cipher(key: bytes) -> "ChaCha20Poly1305":
    from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415 - as above
        ChaCha20Poly1305,
    )

    return ChaCha20Poly1305(key)


def _encoded(data: bytes) -> bytes:
    return base64.b64encode(data).rstrip(b"=")


def _decoded(text: bytes) -> bytes:
    return base64.b64decode(text + b"=" * (-len(text) % 4))
