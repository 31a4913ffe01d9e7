"""Words for what a configuration key takes, from its type: the sentences of a refusal."""

import enum
import re
import types
import typing
from collections.abc import Mapping, Sequence

import msgspec

# A refused value is quoted up to here: enough to recognise it
_SHOWN_CHARS = 40
# Half of the letters in order: `bdua` still finds `baud`
_CLOSE_ENOUGH = 0.5
# More places than these are no help
_MOST_MEANT = 3
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
# What office programs and telephones make of a quote
_CURLY = (
    "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
    "\N{DOUBLE LOW-9 QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}"
    "\N{RIGHT SINGLE QUOTATION MARK}\N{SINGLE LOW-9 QUOTATION MARK}"
    "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}"
    "\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}"
)
# What people and other documents call a choice; by its letters `adc` would be a `dac`
_ALSO_CALLED = {"adc": "analog", "in": "input", "out": "output", "relay": "output", "led": "output"}
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text in quotes"}


def complaint(value: object, kind: typing.Any) -> str:
    """Return what should stand instead of `value`; empty if the type has no words."""
    wanted = expected(kind)
    if not wanted:
        return ""
    import difflib  # noqa: PLC0415 - only after a mistake

    word = str(value).lower()
    choices = _choices(_bare(kind)[0])
    other = _ALSO_CALLED.get(word, "")
    close = [other] if other in choices else difflib.get_close_matches(word, choices, n=1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    return f"must be {wanted}, not {_shown(value)}{hint}"


def expected(kind: typing.Any) -> str:
    """Return what a value of this type looks like; a type may say it itself as `looks_like`."""
    base, metas = _bare(kind)
    described = next((meta.description for meta in metas if meta.description), "")
    if described:
        return described
    if choices := _choices(base):
        return f"one of {', '.join(choices)}"
    if typing.get_origin(base) in {typing.Union, types.UnionType}:
        words = [expected(part) for part in typing.get_args(base) if part is not types.NoneType]
        return " or ".join(words) if all(words) else ""
    if typing.get_origin(base) in {tuple, list, frozenset, set}:
        item = expected(typing.get_args(base)[0])
        return item and f"a list, each of it {item}"
    word: str = _WORDS.get(base, "") or getattr(base, "looks_like", "")
    return word and " ".join([word, *(_limits(meta) for meta in metas)]).strip()


def of_syntax(what: str, rest: str) -> str:
    """Return what to write instead where a line cannot be read; `rest` is not quoted: a secret."""
    first = rest[:1]
    if first and first in _CURLY:
        return f'; write straight quotes (") instead of {first}'
    if not (first.isascii() or first.isprintable()):
        return (
            f"; take out the character U+{ord(first):04X}, which looks like a space or like nothing"
        )
    if what.startswith("Unescaped"):
        return "; write it twice, or put the text between single quotes (')"
    if what != "Invalid value" or not (first.isalpha() or not first.isascii()):
        return ""
    if re.match(r"(?i:true|false)\b", rest):
        return "; write true or false in small letters"
    return '; put text between quotes (")'


def install_hint(extra: str) -> str:
    """Return how to install an extra's packages, for a checkout and for the service."""
    return (
        f"install it from the checkout with `.venv/bin/pip install '.[{extra}]'`, for the service "
        f"with `sudo scripts/install --extra {extra}`"
    )


def unknown(key: str, known: Sequence[str], deeper: Sequence[str] = ()) -> str:
    """Return the sentence about an unknown key of a section.

    Args:
        deeper: full names of keys of that name in the sections here.
    """
    import difflib  # noqa: PLC0415 - only after a mistake

    if 0 < len(deeper) <= _MOST_MEANT:
        return f"unknown key; did you mean {' or '.join(f'`{one}`' for one in deeper)}?"
    close = difflib.get_close_matches(key.lower(), known, n=1, cutoff=_CLOSE_ENOUGH)
    if close:
        return f"unknown key; did you mean `{close[0]}`?"
    return f"unknown key; the keys here are {', '.join(known) or 'none'}"


def key_path(where: Sequence[str]) -> str:
    """A key as a person would look for it, in visible characters whatever the file holds."""
    shown = ".".join(key if _BARE_KEY.fullmatch(key) else _shown(key) for key in where)
    return f"`{shown}`" if shown else "the file"


def _limits(meta: msgspec.Meta) -> str:
    parts = [_range(meta)]
    if meta.gt is not None:
        parts.append(f"above {meta.gt}")
    if meta.lt is not None:
        parts.append(f"below {meta.lt}")
    if meta.max_length is not None:
        parts.append(f"of {meta.min_length or 0} to {meta.max_length} characters")
    elif meta.min_length:
        parts.append(f"of at least {meta.min_length} characters")
    if meta.pattern:
        parts.append(f"of the form {meta.pattern}")
    return " ".join(part for part in parts if part)


def _range(meta: msgspec.Meta) -> str:
    if meta.ge is not None and meta.le is not None:
        return f"from {meta.ge} to {meta.le}"
    if meta.ge is not None:
        return f"of at least {meta.ge}"
    return f"of at most {meta.le}" if meta.le is not None else ""


def _bare(kind: typing.Any) -> tuple[typing.Any, list[msgspec.Meta]]:
    if typing.get_origin(kind) is typing.Annotated:
        base, *metas = typing.get_args(kind)
        return base, [meta for meta in metas if isinstance(meta, msgspec.Meta)]
    return kind, []


def _choices(base: typing.Any) -> list[str]:
    if isinstance(base, enum.EnumMeta):
        members: Mapping[str, enum.Enum] = base.__members__
        return [str(member.value) for member in members.values()]
    if typing.get_origin(base) is typing.Literal:
        return [str(choice) for choice in typing.get_args(base)]
    return []


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a table"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if isinstance(value, bool):
        text = text.lower()
    visible = "".join(char if char.isprintable() else "?" for char in text)
    return visible if len(visible) <= _SHOWN_CHARS else f"{visible[: _SHOWN_CHARS - 1]}…"
