"""Sections of the configuration that the page of settings shows, from the types themselves."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from agent.app.console.settings_field import FormField, field_of, named_section_of, section_of
from agent.config import NAME, ConfigSection, Where
from agent.settings import Settings


class FormSection(Struct, frozen=True):
    """A table of the file.

    Args:
        where: its name in the file, step by step.
        takes_names: of tables below it whose names are a person's own.
        is_optional: something is there, or not, by the table alone.
    """

    where: Where
    kind: type[ConfigSection]
    is_set: bool
    takes_names: tuple[str, ...]
    is_optional: bool = False

    def fields(self) -> list[FormField]:
        """Return its keys, but for tables of their own."""
        return [field_of(one) for one in _own_fields(self.kind)]


def sections(table: Mapping[str, object]) -> Iterator[FormSection]:
    """Yield every table that a file may have; of those with names the ones that are there."""
    for one in msgspec.structs.fields(Settings):
        yield from _below(one.encode_name, one.type, (), table)


def section_at(where: Where) -> FormSection | None:
    """Return the section of that name; None if there can be none."""
    kind: type[ConfigSection] | None = Settings
    steps, is_optional = list(where), False
    while steps and kind is not None:
        known = {one.encode_name: one.type for one in msgspec.structs.fields(kind)}
        whole = known.get(steps[0])
        named = named_section_of(whole)
        if named is not None and len(steps) > 1:
            if not NAME.fullmatch(steps[1]):
                return None
            kind, steps, is_optional = named, steps[2:], True
        else:
            kind, steps, is_optional = section_of(whole), steps[1:], section_of(whole) is not whole
    if kind is None or not where:
        return None
    names = tuple(names_below(kind))
    return FormSection(where, kind, is_set=True, takes_names=names, is_optional=is_optional)


def _below(
    name: str, kind: Any, above: Where, table: Mapping[str, object]
) -> Iterator[FormSection]:
    where, held = (*above, name), table.get(name)
    inner = held if isinstance(held, Mapping) else {}
    if (section := section_of(kind)) is not None:
        if name != "channels":
            yield FormSection(where, section, name in table, tuple(names_below(section)))
        for one in msgspec.structs.fields(section):
            yield from _below(one.encode_name, one.type, where, inner)
    elif named_section_of(kind) is not None:
        for key, one in inner.items():
            section = named_section_of(kind)
            if section is not None and isinstance(one, Mapping):
                yield from _below(key, section, where, inner)


def _own_fields(kind: type[ConfigSection]) -> Iterator[msgspec.structs.FieldInfo]:
    for one in msgspec.structs.fields(kind):
        if section_of(one.type) is None and named_section_of(one.type) is None:
            yield one


def names_below(kind: type[ConfigSection]) -> Iterator[str]:
    """Yield the keys of tables whose names are a person's own."""
    for one in msgspec.structs.fields(kind):
        if named_section_of(one.type) is not None:
            yield one.encode_name
