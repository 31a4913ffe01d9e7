"""Wiping of secrets: stars in the text of a file, and in the raw partition.

The rest stays as a person wrote it. What a comment repeats of a secret goes as well.

A file that was replaced or deleted stays readable in the raw partition. The partition is searched
once after a secret was stored, while it is mounted read-only; only the secrets are overwritten.
A secret may be a word of what the Pi starts from, such as `raspberry`, or in the name of it, such
as `OVERLAYS`: that stays as it is.
"""

import logging
import mmap
import os
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from agent.config import ConfigSection, decode
from agent.provision.secret_values import STAR, Place, found, is_starred, put, secrets_in

_log = logging.getLogger(__name__)

_CHUNK_BYTES = 4 * 1024 * 1024
# A shorter one could be part of something else
MIN_SECRET_BYTES = 8
# Label of a FAT32 partition in its first sector; its folder has it again
_LABEL_AT, _LABEL_BYTES = 71, 11
# What a Pi starts from; whatever else is on the partition a person has put there
_SYSTEM = ("[AB]/*", "overlays/*", "*.bin", "*.elf", "*.dat", "*.dtb", "config.txt", "tryboot.txt")


def system_files(firmware: Path) -> Iterator[Path]:
    """Yield the files on the firmware partition that the Pi starts from."""
    for pattern in _SYSTEM:
        yield from (path for path in sorted(firmware.glob(pattern)) if path.is_file())


def sweep(partition: Path, secrets: Collection[str], system: Iterable[Path] = ()) -> int:
    """Overwrite them with stars wherever they are; how often they were overwritten.

    Args:
        system: files on the partition; a secret that is also a word of theirs, of their names or
            of the partition's own is left everywhere, because nobody can tell the one from the
            other there.
    """
    wanted = [secret.encode() for secret in secrets if len(secret.encode()) >= MIN_SECRET_BYTES]
    if not wanted:
        return 0
    handle = os.open(partition, os.O_RDWR | os.O_CLOEXEC)
    try:
        places = _find(handle, wanted)
        label = os.pread(handle, _LABEL_BYTES, _LABEL_AT)
        words = _words_of(system, label, {secret for _, secret in places})
        places = {(at, secret) for at, secret in places if secret not in words}
        for at, secret in places:
            os.pwrite(handle, b"*" * len(secret), at)
        os.fsync(handle)
    finally:
        os.close(handle)
    if places:
        _log.info("provision: wiped secrets of deleted files (places=%d)", len(places))
    if words:
        _log.warning("provision: secrets are words of the system, not wiped (count=%d)", len(words))
    return len(places)


def _words_of(system: Iterable[Path], label: bytes, wanted: Collection[bytes]) -> set[bytes]:
    """Return those that stand in one of the files, in their names or in the label."""
    words = {one for one in wanted if one in label}
    for path in system if wanted else ():
        names = b"\n".join(map(_short_name, (path, path.parent)))
        words |= {one for one in wanted if one in names}
        with path.open("rb") as file:
            # An empty one cannot be mapped
            if os.fstat(file.fileno()).st_size:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                    words |= {one for one in wanted if content.find(one) >= 0}
    return words


def _short_name(path: Path) -> bytes:
    """Return the name as a folder of FAT has it; a long one is there in letters of two bytes."""
    return os.fsencode(f"{path.stem.upper():8}{path.suffix[1:].upper():3}")


def _find(handle: int, wanted: Collection[bytes]) -> set[tuple[int, bytes]]:
    places = set()
    # What lies across the end of one piece is found in the next one
    overlap = max(map(len, wanted)) - 1
    start = 0
    while len(chunk := os.pread(handle, _CHUNK_BYTES, start)) > overlap:
        for secret in wanted:
            at = chunk.find(secret)
            while at >= 0:
                places.add((start + at, secret))
                at = chunk.find(secret, at + 1)
        start += len(chunk) - overlap
    return places


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
        raise ValueError("a secret is written in a form that cannot be overwritten")
    return text


def _texts(text: str, secrets: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of text that hold a secret."""
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
    """Return the table without the secrets; None if the text is no longer TOML."""
    try:
        table = tomllib.loads(text)
    except ValueError:
        return None
    for place in places:
        put(table, place, "")
    return table


def _stars(text: str) -> str:
    return STAR * len(text.encode())


def wiped(text: str, kind: type[ConfigSection]) -> str:
    """A text of that kind of settings, with stars for each secret that stands in it."""
    settings = decode(text, kind, Path())
    places = [place for place, one in secrets_in(settings) if not is_starred(one.reveal())]
    return starred(text, places) if places else text
