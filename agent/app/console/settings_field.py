"""Key of a section as a form shows it, made from its type, and what was typed as a value again.

A field that is left empty leaves its key out, and the default counts. A secret is never shown.
"""

import enum
import json
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agent.config import ConfigSection, Secret
from agent.text.config_hints import expected

# Between a key and its value on a line of a text area
_PAIR = " = "


class FieldKind(enum.Enum):
    """Input that a page shows for a key."""

    # true or false
    FLAG = "flag"
    # One of a few words
    CHOICE = "choice"
    # A number
    NUMBER = "number"
    # A line of text
    TEXT = "text"
    # A list, one line for each
    LINES = "lines"
    # Keys and values, one line for each
    PAIRS = "pairs"
    # What can be typed and is not shown
    HIDDEN = "secret"
    # Several of these, one line for each
    HIDDEN_LINES = "secrets"
    # The same with keys
    HIDDEN_PAIRS = "secret_pairs"
    # Anything else, as TOML writes it
    TOML = "toml"


# Types of a value that is no list and no table
_PLAIN: Mapping[typing.Any, FieldKind] = {
    bool: FieldKind.FLAG,
    int: FieldKind.NUMBER,
    float: FieldKind.NUMBER,
    str: FieldKind.TEXT,
    Secret: FieldKind.HIDDEN,
}


class FormField(Struct, frozen=True):
    """A key of a section.

    Args:
        wanted: words for what it takes.
        usual: its default, as the form would show it.
    """

    name: str
    kind: FieldKind
    choices: tuple[str, ...]
    wanted: str
    usual: str
    type: typing.Any

    def shown(self, value: object) -> str:
        """Return a value of the file as the form shows it."""
        if self.is_secret or value is None:
            return ""
        if self.kind is FieldKind.LINES and isinstance(value, list | tuple):
            return "\n".join(map(_plain, value))
        if self.kind is FieldKind.PAIRS and isinstance(value, Mapping):
            return "\n".join(f"{key}{_PAIR}{_plain(one)}" for key, one in value.items())
        return _plain(value) if self.kind is not FieldKind.TOML else _toml(value)

    def read(self, text: str) -> object:
        """Return the value for the file; None for an empty field.

        What cannot be read stays a text: the check of the file says what is wrong with it.
        """
        text = text.replace("\r\n", "\n")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if not lines:
            return None
        item = _item(self.type)
        if self.kind in {FieldKind.LINES, FieldKind.HIDDEN_LINES}:
            return [_typed(line, item) for line in lines]
        if self.kind in {FieldKind.PAIRS, FieldKind.HIDDEN_PAIRS}:
            pairs = (line.partition("=") for line in lines)
            return {key.strip(): _typed(value.strip(), item) for key, _, value in pairs}
        if self.kind is FieldKind.TOML:
            return _from_toml(text)
        # A space at the end of a text may be meant, as in a prompt
        return _typed(text if self.kind is FieldKind.TEXT else text.strip(), self.type)

    @property
    def is_secret(self) -> bool:
        return self.kind in {FieldKind.HIDDEN, FieldKind.HIDDEN_LINES, FieldKind.HIDDEN_PAIRS}


def field_of(one: msgspec.structs.FieldInfo) -> FormField:
    kind, choices = _kind(one.type)
    # In a form nothing stands in quotes
    wanted = expected(one.type).replace("text in quotes", "text")
    made = FormField(one.encode_name, kind, choices, wanted, "", one.type)
    default = one.default
    if default is msgspec.NODEFAULT and one.default_factory is not msgspec.NODEFAULT:
        default = one.default_factory()
    usual = "" if default is msgspec.NODEFAULT else made.shown(_builtin(default))
    return replace(made, usual=usual)


def _kind(whole: typing.Any) -> tuple[FieldKind, tuple[str, ...]]:
    base, origin = _bare(whole), typing.get_origin(_bare(whole))
    if isinstance(base, enum.EnumMeta):
        return FieldKind.CHOICE, tuple(str(one.value) for one in _members(base))
    if origin is typing.Literal:
        return FieldKind.CHOICE, tuple(str(one) for one in typing.get_args(base))
    if origin in {typing.Union, types.UnionType}:
        return FieldKind.TEXT, ()
    if origin is None and base in _PLAIN:
        return _PLAIN[base], ("true", "false") if base is bool else ()
    return _kind_of_many(base, origin), ()


def _kind_of_many(base: typing.Any, origin: typing.Any) -> FieldKind:
    is_list, is_table = origin in {tuple, list, frozenset}, origin is dict
    item = _bare(_item(base))
    if not is_list and not is_table:
        return FieldKind.TOML
    if item is Secret:
        return FieldKind.HIDDEN_LINES if is_list else FieldKind.HIDDEN_PAIRS
    is_plain = item in {str, int, float} or isinstance(item, enum.EnumMeta)
    if is_plain or typing.get_origin(item) is typing.Literal:
        return FieldKind.LINES if is_list else FieldKind.PAIRS
    return FieldKind.TOML


def _members(kind: enum.EnumMeta) -> Sequence[enum.Enum]:
    members: Mapping[str, enum.Enum] = kind.__members__
    return list(members.values())


def _item(kind: typing.Any) -> typing.Any:
    """Return the type of a list's items or of a table's values."""
    arguments = typing.get_args(_bare(kind))
    if not arguments:
        return kind
    return arguments[1] if typing.get_origin(_bare(kind)) is dict else arguments[0]


def _bare(kind: typing.Any) -> typing.Any:
    """Return the type without its limits, and without None where it may be left out."""
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    if typing.get_origin(kind) in {typing.Union, types.UnionType}:
        parts = [one for one in typing.get_args(kind) if one is not types.NoneType]
        return _bare(parts[0]) if len(parts) == 1 else kind
    return kind


def section_of(kind: typing.Any) -> type[ConfigSection] | None:
    base = _bare(kind)
    return base if isinstance(base, type) and issubclass(base, ConfigSection) else None


def named_section_of(kind: typing.Any) -> type[ConfigSection] | None:
    """Return the section of tables with a person's names: `dict[str, SomeSection]`."""
    base = _bare(kind)
    return section_of(typing.get_args(base)[1]) if typing.get_origin(base) is dict else None


def _typed(text: str, kind: typing.Any) -> object:
    base = _bare(kind)
    if base is bool:
        return {"true": True, "false": False}.get(text, text)
    numbers = {int: (int,), float: (int, float)}.get(base, ())
    if typing.get_origin(base) in {typing.Union, types.UnionType}:
        # A number where it is one, as in 115200 or "auto"
        numbers = (int,)
    for number in numbers:
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _from_toml(text: str) -> object:
    try:
        return tomllib.loads(f"is = {text.strip()}")["is"]
    except (ValueError, RecursionError):
        return text.strip()


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else ""
    return json.dumps(value, ensure_ascii=False)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _builtin(value: object) -> object:
    if isinstance(value, Secret):
        return None
    return msgspec.to_builtins(value, enc_hook=lambda _: None)
