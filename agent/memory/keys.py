"""Readable keys for memories that come without one; equal content gives an equal key."""

import hashlib

from agent.memory.text import normalise

# Long enough to recognise a memory in a list
_READABLE_CHARS = 32
# Tells apart contents that begin alike: 40 bits
_HASH_CHARS = 10
# Of every sign that is no letter and no digit, a space
_ASCII_SPACED = {code: " " for code in range(128) if not chr(code).isalnum()}
_CLOSING_MARKS = " .,;:!?。，；：！？"


def key_of(content: str) -> str:
    """Return the first words of the content and a short hash of all of it.

    Contents that differ only in case, width, spacing or closing marks share a key.
    """
    same = " ".join(normalise(content).split()).strip(_CLOSING_MARKS)
    digest = hashlib.sha256(same.encode(errors="replace")).hexdigest()[:_HASH_CHARS]
    if same.isascii():
        spaced = same.translate(_ASCII_SPACED)
    else:
        spaced = "".join(char if char.isalnum() else " " for char in same)
    readable = _readable(spaced.split())
    return f"{readable}-{digest}" if readable else digest


def searched_text(key: str, content: str) -> str:
    """Return the searched text of a memory: its content, and its key if somebody chose one."""
    return content if key == key_of(content) else f"{key.replace('_', ' ')}: {content}"


def _readable(words: list[str]) -> str:
    """Return as many whole words as fit; cut a long first word."""
    readable = "-".join(words)
    if len(readable) <= _READABLE_CHARS:
        return readable
    whole, _, _ = readable[: _READABLE_CHARS + 1].rpartition("-")
    return whole or readable[:_READABLE_CHARS]
