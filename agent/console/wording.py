"""Texts of the pages in six languages: a file each, and the choice by what a browser asks for."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

_FOLDER = Path(__file__).with_name("wording")
LANGUAGES = ("en", "de", "es", "ko", "ja", "zh")
_RANGE = re.compile(
    r"^\s*(?P<code>[A-Za-z]{2,3})(?:-[A-Za-z0-9-]+)?(?:\s*;\s*q=(?P<q>[0-9.]{1,5}))?\s*\Z"
)
# A browser lists a handful; the rest of a long header is not read
_MOST_RANGES = 20


class Wording(Struct, frozen=True):
    """Texts of one language."""

    code: str
    texts: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """Return the text with the values in it."""
        text = self.texts[key]
        return text.format(**values) if values else text

    def has(self, key: str) -> bool:
        return key in self.texts


@cache
def wording(code: str) -> Wording:
    """Return the texts of one of `LANGUAGES`."""
    table = tomllib.loads((_FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    texts = {
        f"{section}.{key}": text
        for section, entries in table.items()
        if isinstance(entries, dict)
        for key, text in entries.items()
    }
    return Wording(code, texts)


def chosen(accepted: str) -> Wording:
    """Return the language that an Accept-Language header prefers; English without one."""
    ranked: list[tuple[float, int, str]] = []
    for place, part in enumerate(accepted.split(",")[:_MOST_RANGES]):
        found = _RANGE.match(part)
        if found is not None and (code := found["code"].lower()) in LANGUAGES:
            ranked.append((-_quality(found["q"]), place, code))
    return wording(min(ranked)[2] if ranked else "en")


def _quality(text: str | None) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0
