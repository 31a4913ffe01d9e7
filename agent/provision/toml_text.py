"""Writing TOML: what `tomllib` reads back as the same table.

For tables that were read or asked for: no dates, no comments.
"""

import json
import re
from collections.abc import Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")

Table = dict[str, object]


def dumps(table: Mapping[str, object]) -> str:
    """The whole text; tables within tables get a heading each."""
    return "\n".join(_lines(table, ())).strip("\n") + "\n"


def _lines(table: Mapping[str, object], where: tuple[str, ...]) -> Iterator[str]:
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping)}
    plain = {key: value for key, value in table.items() if key not in tables}
    if where and (plain or not tables):
        yield ""
        yield f"[{'.'.join(map(_key, where))}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_value(value)}"
    for key, inner in tables.items():
        yield from _lines(inner, (*where, key))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            pairs = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
            return f"{{{pairs}}}"
    raise TypeError(f"a {type(value).__name__} is not written")


def _text(text: str) -> str:
    # JSON's escapes are TOML's, but for the one control character that JSON leaves as it is
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
