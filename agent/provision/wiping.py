"""A TOML text with stars where its secrets stood, of the same length: written over the same place.

The rest stays as a person wrote it. What a comment repeats of a secret goes as well.
"""

import re
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path

from agent.config import Section, decode
from agent.provision.secret_values import STAR, Place, found, is_starred, put, secrets_in

# Comments, then the four kinds of text; the first that fits where it stands is the right one
_TOKEN = re.compile(
    r"#[^\n]*"
    r'|"""(?:[^\\]|\\.)*?"""(?!")'
    r"|'''.*?'''(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_LONG = ('"""', "'''")


def starred(text: str, places: Collection[Place]) -> str:
    """The text, as many bytes long as before, without the secrets at these places.

    Raises:
        ValueError: a secret is written in a way that cannot be overwritten.
    """
    table = tomllib.loads(text)
    secrets = {str(found(table, place)) for place in places}
    rest = _rest(text, places)
    # From the end: a letter may be several bytes, and then gives way to as many stars
    for start, end in reversed(list(_texts(text, secrets))):
        tried = f"{text[:start]}{_stars(text[start:end])}{text[end:]}"
        # The same word may be no secret elsewhere: a network may be called like its password
        if _rest(tried, places) == rest:
            text = tried
    table = tomllib.loads(text)
    if not all(is_starred(str(found(table, place))) for place in places):
        raise ValueError("a secret is written in a way that cannot be overwritten")
    return text


def _texts(text: str, secrets: Collection[str]) -> Iterator[tuple[int, int]]:
    """From where to where something stands that is a secret."""
    any_secret = re.compile("|".join(map(re.escape, sorted(secrets, key=len, reverse=True))))
    for token in _TOKEN.finditer(text):
        written = token[0]
        if written.startswith("#"):
            for at in any_secret.finditer(written):
                yield token.start() + at.start(), token.start() + at.end()
        elif _meant(written) in secrets:
            quotes = 3 if written.startswith(_LONG) else 1
            yield token.start() + quotes, token.end() - quotes


def _meant(written: str) -> str:
    try:
        return str(tomllib.loads(f"is = {written}")["is"])
    except ValueError:
        return ""


def _rest(text: str, places: Collection[Place]) -> object:
    """All but the secrets; None for what is no TOML any more."""
    try:
        table = tomllib.loads(text)
    except ValueError:
        return None
    for place in places:
        put(table, place, "")
    return table


def _stars(text: str) -> str:
    return STAR * len(text.encode())


def wiped(text: str, kind: type[Section]) -> str:
    """A text of that kind of settings, with stars for each secret that stands in it."""
    settings = decode(text, kind, Path())
    places = [place for place, one in secrets_in(settings) if not is_starred(one.reveal())]
    return starred(text, places) if places else text
