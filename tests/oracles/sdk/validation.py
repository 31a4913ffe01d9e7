"""What a vendor's types say of a request body: fields they do not know, values they refuse."""

import types
from collections import abc
from functools import cache
from typing import Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from typing_extensions import TypedDict, is_typeddict

_MARKS = (Required, NotRequired)
# A part of a union that nothing fits is refused by each of its members
_MOST_TOLD = 8


def problems(known: Any, *values: Any) -> list[str]:
    """An empty list where every field is one that the vendor's client could have sent."""
    told: list[str] = []
    for value in values:
        try:
            TypeAdapter(_strict(known)).validate_python(value)
        except ValidationError as err:
            found = [f"{e['loc'][-3:]}: {e['msg']}" for e in err.errors(include_url=False)]
            told += found[:_MOST_TOLD]
    return told


@cache
def _strict(known: Any) -> Any:
    """The same type, which refuses unknown fields and looks into what it calls iterable."""
    if is_typeddict(known):
        return _strict_dict(known)
    origin, arguments = get_origin(known), get_args(known)
    if origin in (abc.Iterable, list):
        return list[_strict(arguments[0])]
    if origin in (Union, types.UnionType):
        return Union[tuple(_strict(argument) for argument in arguments)]  # noqa: UP007 - made here
    return known


def _strict_dict(known: Any) -> Any:
    fields = {}
    for name, hint in get_type_hints(known, include_extras=True).items():
        mark = get_origin(hint) if get_origin(hint) in _MARKS else None
        inner = _strict(get_args(hint)[0] if mark else hint)
        # Marks in annotations that are text are not counted among the required keys
        is_required = mark is Required or (mark is None and name in known.__required_keys__)
        fields[name] = Required[inner] if is_required else NotRequired[inner]
    made = TypedDict(known.__name__, fields)
    made.__pydantic_config__ = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    return made
