"""Reading a TOML file into typed sections; every refusal names file, key and remedy.

Each part owns its section as a small `ConfigSection` in its own `settings.py`;
`agent/settings.py` composes them. Nothing here knows any key.
"""

import hmac
import itertools
import math
import re
import stat
import tomllib
import types
import typing
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from agent.errors import ConfigRefused
from agent.text import config_hints

# Many times what every key with its comment takes; more is not a configuration
MAX_CONFIG_BYTES = 64 * 1024
# Shown instead of a secret
MASK = "***"
# The longest path that Linux takes; no text of a configuration is longer
MAX_TEXT_CHARS = 4096
# One screen; what follows is mostly the same mistake again
MAX_PROBLEMS = 20
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
# What a person may call a table of their own
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
# Parts of patterns: a port to connect to, and one to listen at, where 0 is a free one
PORT = r"(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})"
LISTEN_PORT = rf"(0|{PORT})"
# Part of a pattern: the address of a service without a name, a password or a query
WEB_URL = rf"https?://(\[[0-9a-fA-F:.]+\]|[^/\s?#@:\[\]]+)(:{PORT})?(/[^\s?#]*)?"
# Said where a pattern with a port is not kept
PORT_LIMIT = "with a port of at most 65535"
# Everything unprintable but tab and line feed, which texts of several lines hold
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

Where = tuple[str, ...]


class ConfigSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the configuration file: frozen, no unknown keys, every key with a default."""


S = TypeVar("S", bound=ConfigSection)


class Secret:
    """Text that shows itself only when asked to: never in a repr, a log, a hash or a pickle."""

    __slots__ = ("_text",)
    looks_like: typing.ClassVar[str] = "text in quotes"
    __hash__ = None  # type: ignore[assignment]  # a hash would make it a key of something kept

    def __init__(self, text: str = "") -> None:
        if text != text.strip() or not text.isprintable():
            raise ValueError("must be one line without spaces around it")
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other.reveal().encode())

    def __repr__(self) -> str:
        return MASK

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")


def load(path: Path, kind: type[S]) -> S:
    """The file's content.

    Raises:
        ConfigRefused: one line for each thing that is wrong.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ConfigRefused(f"{path}: is not a file; name a TOML file")
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as err:
        raise ConfigRefused(f"{path}: cannot be read: {err.strerror}") from err
    if len(content) > MAX_CONFIG_BYTES:
        raise ConfigRefused(f"{path}: is longer than {MAX_CONFIG_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = content.count(b"\n", 0, err.start) + 1
        raise ConfigRefused(f"{path}: line {line}: not UTF-8; save the file as UTF-8") from err
    return decode(text, kind, path)


def decode(text: str, kind: type[S], path: Path) -> S:
    """A TOML text's content; `path` is what a refusal names.

    Raises:
        ConfigRefused: one line for each thing that is wrong.
    """
    try:
        table = tomllib.loads(text)
    except RecursionError as err:
        raise ConfigRefused(f"{path}: is nested too deeply") from err
    except ValueError as err:
        raise ConfigRefused(f"{path}: {_syntax_problem(str(err), text)}") from err
    problems = list(itertools.islice(_problems(table, kind, ()), MAX_PROBLEMS))
    if problems:
        raise ConfigRefused("\n".join(f"{path}: {problem}" for problem in problems))
    return _convert(table, kind)


def keys(kind: type[ConfigSection], where: Where = ()) -> Iterator[Where]:
    """The path of every key that a file may set, but for tables whose names are a person's.

    Nor those of a table that need not be there: without it, what it is for is not there either.
    """
    for field in msgspec.structs.fields(kind):
        here = (*where, field.encode_name)
        if _is_section(field.type):
            yield from keys(field.type, here)
        elif typing.get_origin(field.type) is not dict and not _is_section(_present(field.type)):
            yield here


def _syntax_problem(message: str, text: str) -> str:
    place = _PLACE.search(message)
    what = message[: place.start()] if place else message
    if what.startswith(("Cannot overwrite", "Cannot declare", "Cannot mutate")):
        what = f"a key or table is given twice ({what})"
    if place and place[1]:
        line = text.split("\n")[int(place[1]) - 1]
        remedy = config_hints.of_syntax(what, line[int(place[2]) - 1 :])
        return f"line {place[1]}, column {place[2]}: {what}{remedy}"
    lines = text.rstrip("\n").split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}: {what}"


def _problems(table: dict[str, object], kind: type[ConfigSection], where: Where) -> Iterator[str]:
    """Yield the faults in a section and beneath it; those across its keys only if no other is."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    clean = True
    for key, value in table.items():
        here = (*where, key)
        if key not in fields:
            meant = config_hints.unknown(key, list(fields), _one_section_deeper(key, fields))
            found = iter([f"{config_hints.key_path(here)}: {meant}"])
        else:
            found = _value_problems(value, fields[key].type, here)
        for problem in found:
            clean = False
            yield problem
    if clean:
        try:
            _convert(table, kind)
        except msgspec.ValidationError as err:
            yield _spanning_problem(_reason(err), fields, where)


def _one_section_deeper(key: str, fields: Mapping[str, msgspec.structs.FieldInfo]) -> list[str]:
    """Return the full names of this key in the sections here: [telegram] is [channels.telegram]."""
    return [
        f"{name}.{key}"
        for name, field in fields.items()
        if _is_section(kind := _present(field.type))
        and key in {one.encode_name for one in msgspec.structs.fields(kind)}
    ]


def _spanning_problem(reason: str, known: Container[str], where: Where) -> str:
    """Return the section's own refusal, with the full name of the key that it begins with."""
    first, _, rest = reason.partition(" ")
    if first in known:
        return f"{config_hints.key_path((*where, first))}: {rest}"
    return f"{config_hints.key_path(where)}: {reason}"


def _value_problems(value: object, kind: typing.Any, where: Where) -> Iterator[str]:
    name = config_hints.key_path(where)
    kind = _present(kind)
    if _is_section(kind):
        if isinstance(value, dict):
            yield from _problems(value, kind, where)
        else:
            yield f"{name}: must be a table; write [{'.'.join(where)}] on a line of its own"
    elif (section := _named_section(kind)) is not None:
        if isinstance(value, dict):
            for key, table in value.items():
                yield from _named_problems(key, table, section, where)
        else:
            yield f"{name}: must be a table; write [{'.'.join(where)}.<name>] on a line of its own"
    elif reason := _unusable(value):
        yield f"{name}: {reason}"
    elif typing.get_origin(kind) is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from _value_problems(item, typing.get_args(kind)[1], (*where, key))
    else:
        try:
            _convert(value, kind)
        except msgspec.ValidationError as err:
            yield f"{name}: {_complaint(value, kind, err)}"


def _named_problems(
    name: str, table: object, section: type[ConfigSection], where: Where
) -> Iterator[str]:
    if not NAME.fullmatch(name):
        named = config_hints.key_path((*where, name))
        yield f"{named}: must be a name of small letters, digits and _, at most 32"
    else:
        yield from _value_problems(table, section, (*where, name))


def _unusable(value: object) -> str:
    """Return why nothing of ours can use the value, whatever its type; empty if it can."""
    match value:
        case str() if len(value) > MAX_TEXT_CHARS:
            return f"must be no longer than {MAX_TEXT_CHARS} characters"
        case str() if _CONTROL.search(value):
            return "must not hold control characters"
        case float() if not math.isfinite(value):
            return "must be a finite number"
        case list():
            return next(filter(None, map(_unusable, value)), "")
        case dict():
            return next(filter(None, map(_unusable, (*value, *value.values()))), "")
    return ""


def _complaint(value: object, kind: typing.Any, err: msgspec.ValidationError) -> str:
    if _mentions_secret(kind):
        # The value stays unsaid: a mistyped key is nearly the key
        return _reason(err) if isinstance(value, str) else f"must be {config_hints.expected(kind)}"
    return config_hints.complaint(value, kind) or _reason(err)


def _mentions_secret(kind: typing.Any) -> bool:
    return kind is Secret or any(_mentions_secret(part) for part in typing.get_args(kind))


def _is_section(kind: typing.Any) -> typing.TypeGuard[type[ConfigSection]]:
    return isinstance(kind, type) and issubclass(kind, ConfigSection)


def _present(kind: typing.Any) -> typing.Any:
    """The section, of a table that may be left out: `SomeSection | None`."""
    parts = [part for part in typing.get_args(kind) if part is not types.NoneType]
    is_optional = typing.get_origin(kind) is types.UnionType and len(parts) == 1
    return parts[0] if is_optional and _is_section(parts[0]) else kind


def _named_section(kind: typing.Any) -> type[ConfigSection] | None:
    """The section of each table, where a person gives the names: `dict[str, SomeSection]`."""
    if typing.get_origin(kind) is not dict:
        return None
    section = typing.get_args(kind)[1]
    return section if _is_section(section) else None


def _convert(value: object, kind: type[S]) -> S:
    return msgspec.convert(value, kind, dec_hook=_decode_secret)


def _decode_secret(kind: type, value: object) -> object:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise TypeError(f"must be {config_hints.expected(kind)}")


def _reason(err: msgspec.ValidationError) -> str:
    return str(err).partition(" - at `")[0]


def home_folder(environ: Mapping[str, str]) -> Path:
    """Return the person's home folder.

    Raises:
        ConfigRefused: there is none.
    """
    if named := environ.get("HOME"):
        return Path(named)
    try:
        return Path.home()
    except RuntimeError as err:
        raise ConfigRefused(
            "no home folder: set HOME, or BARNACLE_CONFIG and BARNACLE_STATE_DIR"
        ) from err


def expanded(text: str, environ: Mapping[str, str]) -> Path:
    """Return an absolute path; `~` is the person's home."""
    if text == "~" or text.startswith("~/"):
        return home_folder(environ) / text[2:]
    return Path(text).absolute()
