"""TOML text of a table: new, or a person's own text with other values and the same comments."""

import tomllib
from collections.abc import Mapping, MutableMapping
from typing import Any

Table = dict[str, object]


def dumps(table: Mapping[str, object]) -> str:
    """Return the whole text, which `tomllib` reads back as the same table."""
    import tomlkit  # noqa: PLC0415 - a start writes no TOML

    return tomlkit.dumps(table)


def edited(text: str, table: Mapping[str, object]) -> str:
    """Return the text with the values of `table`; comments and order of what stays are kept.

    A text that is no TOML, or that cannot be edited so, gives way to a new one.
    """
    import tomlkit  # noqa: PLC0415 - as above

    try:
        document = tomlkit.parse(text)
        _bring(document, tomllib.loads(text), table)
        made = tomlkit.dumps(document)
        return made if tomllib.loads(made) == table else dumps(table)
    except (ValueError, LookupError, tomlkit.exceptions.TOMLKitError):
        # Of a table whose parts stand apart tomlkit loses count
        return dumps(table)


def _bring(
    held: MutableMapping[str, Any], old: Mapping[str, Any], wanted: Mapping[str, object]
) -> None:
    """Bring a table of the document, whose values are `old`, to those that are wanted."""
    for key in old.keys() - wanted.keys():
        del held[key]
    for key, value in wanted.items():
        if key not in old:
            _add(held, key, value)
        elif isinstance(value, Mapping) and isinstance(old[key], Mapping):
            _bring(held[key], old[key], value)
        elif not _is_same(old[key], value):
            held[key] = value


def _add(held: MutableMapping[str, Any], key: str, value: object) -> None:
    """Add a key before the comments at its table's end: they are about what comes next."""
    end = _end(held)
    after = []
    while end and end[-1][0] is None:
        after.append(end.pop())
    held[key] = value
    _end(held).extend(reversed(after))


def _end(held: Any) -> list[Any]:
    """Return the items of the last table in a table, comments and empty lines among them."""
    items: list[Any] = []
    while (body := getattr(getattr(held, "value", held), "body", None)) is not None:
        items, held = body, body[-1][1] if body else None
    return items


def _is_same(old: object, new: object) -> bool:
    """Return true for the same value of the same type: 1, 1.0 and true are three."""
    return type(old) is type(new) and old == new
