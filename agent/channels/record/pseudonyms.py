"""Pseudonyms for all in a platform's data that may be about somebody.

Only words that stand in the platform's own source here are left as they are, with small numbers and
times. Every other word becomes one of the same shape: the same word always the same, by a key that
is thrown away with the recorder, so nothing leads back.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

# Longer texts show no more of what a platform sends
MAX_TEXT_CHARS = 2000
# Counts and codes; larger numbers may be ids
MAX_PLAIN_NUMBER = 1000
_MAX_KEY_CHARS = 40
_LITERAL = re.compile(r"\"([A-Za-z][A-Za-z0-9_./:-]{0,60})\"")
_FIELD = re.compile(r"^\s+([a-z_][A-Za-z0-9_]{0,40}): ", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")
_PLAIN_KEY = re.compile(r"[A-Za-z_$][A-Za-z_$.-]*[0-9]?")
_TIME = re.compile(r"time|date|stamp|expire|interval|_at\Z|_ms\Z|^ts\Z", re.IGNORECASE)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# For letters of other scripts: the first of the common CJK ideographs, which take one UTF-16 unit
_HAN = 0x4E00
_HAN_COUNT = 2000
_BMP_CHARS = 0x10000


def known_words(platform: str) -> frozenset[str]:
    """Return the words that the platform's source here is written with; reads the disk."""
    package = import_module(f"agent.channels.{platform}")
    found: set[str] = set()
    for folder in package.__path__:
        for file in Path(folder).glob("*.py"):
            source = file.read_text(encoding="utf-8")
            found.update(_LITERAL.findall(source), _FIELD.findall(source))
    return frozenset(found)


class Pseudonyms:
    """Pseudonyms of one recording.

    Args:
        known: words to leave as they are.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = frozenset(known)
        self._key = secrets.token_bytes(32)

    def of(self, told: object, key: str = "") -> object:
        """Return the data with every value replaced that may be about somebody."""
        match told:
            case dict():
                return {
                    self._of_key(str(name)): self.of(one, str(name)) for name, one in told.items()
                }
            case list():
                return [self.of(one, key) for one in told]
            case bool() | None:
                return told
            case int():
                return told if self._is_plain(told, key) else int(self._number(str(told)))
            case float():
                return told if _TIME.search(key) else float(self._number(f"{told:.6f}"))
            case _:
                return self.of_text(str(told), key)

    def of_text(self, text: str, key: str = "") -> str:
        """Return the text with each word replaced; data in it is replaced as data."""
        if text in self._known or (text.isdigit() and _TIME.search(key)):
            return text
        if text[:1] in {"{", "["}:
            try:
                return json.dumps(self.of(json.loads(text)), ensure_ascii=False)
            except (ValueError, RecursionError):
                pass
        return _WORD.sub(lambda found: self._word(found[0]), text[:MAX_TEXT_CHARS])

    def of_path(self, path: str) -> str:
        """Return the path of an address without what stands for somebody."""
        parts = path.partition("?")[0].split("/")
        return "/".join(one if one in self._known_parts else self.of_text(one) for one in parts)

    @property
    def _known_parts(self) -> frozenset[str]:
        return frozenset(part for word in self._known for part in word.split("/"))

    def _of_key(self, name: str) -> str:
        is_plain = len(name) <= _MAX_KEY_CHARS and _PLAIN_KEY.fullmatch(name)
        # Some platforms put people's ids there
        return name if name in self._known or is_plain else self.of_text(name)

    @staticmethod
    def _is_plain(number: int, key: str) -> bool:
        return abs(number) < MAX_PLAIN_NUMBER or bool(_TIME.search(key))

    def _number(self, digits: str) -> str:
        return _WORD.sub(lambda found: self._word(found[0]), digits)

    def _word(self, word: str) -> str:
        if word in self._known:
            return word
        return "".join(map(_alike, word, self._stream(word)))

    def _stream(self, word: str) -> Iterable[int]:
        told = word.encode(errors="replace")
        block, count = b"", 0
        while True:
            yield from block
            count += 1
            block = hmac.digest(self._key, count.to_bytes(4, "big") + told, hashlib.sha256)


def _alike(char: str, number: int) -> str:
    """Return another character of the same kind and length."""
    if char.isascii() and char.isdigit():
        # No number gets shorter, and none gets longer
        return char if char == "0" else str(1 + number % 9)
    if char.isascii():
        letter = _LETTERS[number % len(_LETTERS)]
        return letter.upper() if char.isupper() else letter
    return chr(_HAN + number * 7 % _HAN_COUNT) if ord(char) < _BMP_CHARS else "\U00020000"
