"""Bulk of a letter: long runs of Base64, kept apart while the rest is read.

The standard library's parser takes seven times a letter's size in memory. Lines of nothing but
Base64 are no border and no field, wherever they stand: one line stands for each run meanwhile.
"""

import binascii
import re
import secrets
from collections.abc import Iterable, Iterator
from copy import copy
from email.message import MIMEPart

# What is looked at at once; a shorter run costs the parser little
_BLOCK_BYTES = 8 * 1024
_PIECE_BYTES = 64 * 1024
_INDEX_DIGITS = 6
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BULK = re.compile(rb"[A-Za-z0-9+/\r\n]+")
_NO_BASE64 = bytes(set(range(256)) - set(_LETTERS + b"="))


class LetterBulk:
    """Long runs of a letter.

    Args:
        thin: the letter with a line for each of them.
    """

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        # The sender cannot write such a line
        token = b"bulk" + secrets.token_hex(16).encode()
        self._mark = re.compile(token + rb"([0-9]{%d})(?:\r?\n)?" % _INDEX_DIGITS)
        self._runs = list(_runs(raw))
        pieces, at = [], 0
        for index, (start, end) in enumerate(self._runs):
            pieces += [raw[at:start], token, b"%0*d\r\n" % (_INDEX_DIGITS, index)]
            at = end
        self.thin = b"".join([*pieces, raw[at:]]) if pieces else raw

    def content(self, part: MIMEPart) -> Iterator[bytes]:
        """Return the content of a part that is no multipart, decoded, in pieces."""
        # Another character set than the bytes that came is not wanted, nor what it may cost
        bare = copy(part)
        del bare["content-type"]
        is_base64 = str(part.get("content-transfer-encoding", "")).strip().lower() == "base64"
        if is_base64:
            del bare["content-transfer-encoding"]
        told = bare.get_payload(decode=True)
        pieces = self.restored(told if isinstance(told, bytes) else b"")
        return _decoded(pieces) if is_base64 else pieces

    def restored(self, thin: bytes) -> Iterator[bytes]:
        """Yield a part of the thin letter as it came."""
        at = 0
        for found in self._mark.finditer(thin):
            yield thin[at : found.start()]
            start, end = self._runs[int(found[1])]
            for place in range(start, end, _PIECE_BYTES):
                yield self._raw[place : min(place + _PIECE_BYTES, end)]
            at = found.end()
        yield thin[at:]


def _runs(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield first and following byte of each run of whole lines."""
    start = -1
    for at in range(0, len(raw), _BLOCK_BYTES):
        end = min(at + _BLOCK_BYTES, len(raw))
        is_bulk = _BULK.fullmatch(raw, at, end) is not None
        if is_bulk and start < 0:
            start = at
        if start >= 0 and (not is_bulk or end == len(raw)):
            yield from _whole_lines(raw, start, end if is_bulk else at)
            start = -1


def _whole_lines(raw: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    # The line in which it begins may have something else before it, such as a field
    begun = raw.find(b"\n", start, end) + 1
    while begun and raw[begun : begun + 1] in {b"\r", b"\n"}:
        begun += 1
    ended = raw.rfind(b"\n", start, end) + 1
    if begun and ended - begun >= _BLOCK_BYTES // 2:
        yield begun, ended


def _decoded(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the content of Base64, up to its end mark; other characters are passed over."""
    rest = b""
    for piece in pieces:
        letters, end, _ = piece.translate(None, _NO_BASE64).partition(b"=")
        letters = rest + letters
        whole = len(letters) // 4 * 4
        yield binascii.a2b_base64(letters[:whole])
        rest = letters[whole:]
        if end:
            break
    if len(rest) > 1:
        yield binascii.a2b_base64(rest + b"=" * (4 - len(rest)))
