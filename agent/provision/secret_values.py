"""Secrets of a configuration, found by their type, so that none is forgotten."""

from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence

import msgspec

from agent.config import Secret

Place = tuple[str | int, ...]
# What a secret is overwritten with where it stood
STAR = "*"


def secrets_in(value: object, where: Place = ()) -> Iterator[tuple[Place, Secret]]:
    """Every secret that is not empty, and the way to it."""
    if isinstance(value, Secret):
        if value:
            yield where, value
    elif isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(type(value)):
            yield from secrets_in(getattr(value, field.name), (*where, field.encode_name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from secrets_in(item, (*where, key))
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from secrets_in(item, (*where, index))


def secret_keys(kind: object) -> tuple[str, ...]:
    """The keys of a table that are secrets; none of what is no table."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return ()
    fields = msgspec.structs.fields(kind)
    return tuple(field.encode_name for field in fields if field.type is Secret)


def is_starred(text: str) -> bool:
    """Return true if the text stands for a secret that was taken over before."""
    return bool(text) and set(text) == {STAR}


def found(table: object, where: Place) -> object:
    """Return the value at that place of a table; None if there is none."""
    for step in where:
        try:
            table = table[step]  # type: ignore[index]  # a table or a list, as the way says
        except (KeyError, IndexError, TypeError):
            return None
    return table


def put(table: MutableMapping[str, object], where: Place, value: object) -> None:
    """Set what is at the end of a way that is there."""
    *way, last = where
    holder = found(table, tuple(way))
    if isinstance(holder, MutableMapping | MutableSequence):
        holder[last] = value  # type: ignore[index]  # a key of a table or an index of a list


def drop(table: MutableMapping[str, object], where: Place) -> None:
    """Take a key out of a table; what is not there stays so."""
    *way, last = where
    holder = found(table, tuple(way))
    if isinstance(holder, MutableMapping):
        holder.pop(str(last), None)
