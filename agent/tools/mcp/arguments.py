"""The arguments of a server's tool, looked at before anybody is asked about them.

The server checks them, too; here is refused what its description does not have, so that a model
can repair it and no question shows a call that cannot be meant.
"""

from collections.abc import Callable, Mapping

from agent.errors import BadArguments

_MAX_DEPTH = 16


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_KINDS: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def refuse_unfit(arguments: Mapping[str, object], schema: Mapping[str, object]) -> None:
    """Raises BadArguments with the name of what does not fit."""
    fields = schema["properties"]
    assert isinstance(fields, Mapping)
    takes_any = bool(schema.get("additionalProperties")) or "patternProperties" in schema
    for name, value in arguments.items():
        if name not in fields:
            if not takes_any:
                raise BadArguments(f"there is no argument `{name}`; there are {', '.join(fields)}")
            continue
        _refuse_other_kind(name, value, fields[name])
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in arguments:
            raise BadArguments(f"the argument `{name}` is missing")
    if _depth_of(arguments) > _MAX_DEPTH:
        raise BadArguments("the arguments are nested too deeply")


def _refuse_other_kind(name: str, value: object, schema: Mapping[str, object]) -> None:
    wanted = schema.get("type")
    kinds = [wanted] if isinstance(wanted, str) else wanted
    if isinstance(kinds, list) and not any(
        kind not in _KINDS or _KINDS[kind](value) for kind in kinds
    ):
        raise BadArguments(f"`{name}` must be {' or '.join(map(str, kinds))}")
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        raise BadArguments(f"`{name}` must be one of {', '.join(map(str, choices))}")


def _depth_of(value: object) -> int:
    parts = list(value.values()) if isinstance(value, Mapping) else value
    return 1 + max(map(_depth_of, parts), default=0) if isinstance(parts, list) else 0
