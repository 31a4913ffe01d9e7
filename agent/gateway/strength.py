"""Strength of a gateway's token: can it be 32 random bytes, or did somebody think it up?

Nobody can see randomness. What can be seen is what random bytes never show: few different
characters, the same few again and again, runs of the alphabet or of a keyboard.
"""

import itertools
import re

# What 32 random bytes are, written in hex and in Base64
HEX_CHARS, BASE64_CHARS = 64, 43
# Random tokens have more: of 100,000 the poorest had 12 in hex and 22 in Base64
LEAST_HEX_KINDS, LEAST_BASE64_KINDS = 10, 16
# Share of groups of three that are there once; of 100,000 random tokens the lowest was 0.88
LEAST_NEW = 0.75
# Share of pairs that follow each other in a row; of 100,000 random tokens the highest was 0.42
MOST_IN_ROWS = 0.55
_HEX = re.compile(r"[0-9a-fA-F]+")
_KEYBOARD = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop")
_NEXT = frozenset(a + b for row in _KEYBOARD for a, b in itertools.pairwise(row))
_GROUP = 3


def weakness_of(token: str) -> str:
    """What shows that the token is not 32 random bytes; empty where nothing does."""
    is_hex = _HEX.fullmatch(token) is not None
    least = HEX_CHARS if is_hex else BASE64_CHARS
    if len(token) < least:
        return f"it has {len(token)} characters, and {least} are needed"
    if len(set(token)) < (LEAST_HEX_KINDS if is_hex else LEAST_BASE64_KINDS):
        return f"it has only {len(set(token))} different characters"
    groups = [token[at : at + _GROUP] for at in range(len(token) - _GROUP + 1)]
    if len(set(groups)) < LEAST_NEW * len(groups):
        return "it repeats itself"
    if _in_rows(token.lower()) > MOST_IN_ROWS:
        return "its characters follow each other as on a keyboard or in the alphabet"
    return ""


def _in_rows(token: str) -> float:
    pairs = list(itertools.pairwise(token))
    hits = (abs(ord(a) - ord(b)) <= 1 or a + b in _NEXT or b + a in _NEXT for a, b in pairs)
    return sum(hits) / len(pairs)
