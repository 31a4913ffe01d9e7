"""Tools that a server offers, cleaned for the owner who approves them and for a model.

A tool is known by a hash of all that its server says of it and of where the server is. What cannot
be shown as it is, or not in full, is no tool at all.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import TypeGuard

from msgspec import Struct, field
from msgspec.structs import replace

from agent.text.printable import printable_line
from agent.tools.mcp.lines import MAX_DEFINITION_BYTES, Offered

# What services take as the name of a tool
MAX_NAME_CHARS = 64
# A model needs no more to choose; what is cut the owner does not see either
MAX_DESCRIPTION_CHARS = 600
# Of what is said about one argument
_MAX_ABOUT_CHARS = 200
# The beginning of each request shows what was found: a tool must leave room for others
MAX_SCHEMA_BYTES = 4096
_MAX_DEPTH = 10
# What services take as the name of an argument; one that they refuse spoils every request
_ARGUMENT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_WIRE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_./-]*")


class ToolOffer(Struct, frozen=True):
    """One tool of a server.

    Args:
        tool: what the server calls it.
        name: what we call it.
        trouble: why it cannot be used; empty where it can.
        repeats: its server says that a call with the same arguments is the same act each time.
    """

    server: str
    tool: str
    name: str
    description: str = ""
    schema: dict[str, object] = field(default_factory=dict)
    digest: str = ""
    trouble: str = ""
    repeats: bool = False


class _Unfit(Exception):
    """A tool cannot be shown; the text says why."""


def offers_of(server: str, where: str, listed: Sequence[Offered]) -> list[ToolOffer]:
    """Return each tool once; of two with one name only the first is usable."""
    found: dict[str, ToolOffer] = {}
    taken: set[str] = set()
    for one in listed:
        offer = _offer(server, where, one)
        if offer.name in taken:
            offer = replace(offer, trouble="another tool of the server has the same name")
        taken.add(offer.name)
        found.setdefault(offer.tool, offer)
    return list(found.values())


def _offer(server: str, where: str, listed: Offered) -> ToolOffer:
    shown = printable_line(listed.name, MAX_NAME_CHARS)
    ours = f"mcp_{server}_" + re.sub(r"[^a-z0-9_]", "_", shown.lower())
    try:
        _refuse_unfit(listed, ours)
        told = json.loads(listed.definition_json)
        schema = _schema(told.get("inputSchema"))
    except _Unfit as err:
        return ToolOffer(server, shown, ours, trouble=str(err))
    return ToolOffer(
        server,
        listed.name,
        ours,
        printable_line(str(told.get("description", "")), MAX_DESCRIPTION_CHARS),
        schema,
        hashlib.sha256(f"{where}\0{listed.definition_json}".encode()).hexdigest(),
        repeats=_repeats(told.get("annotations")),
    )


def _repeats(hints: object) -> bool:
    """Return what the protocol's hints say; a tool without them may mean another thing each time.

    `click` with `ref=e12` is on whatever page is open then. A server that says what is not so gains
    no more than what it could do in any call.
    """
    told = hints if _is_object(hints) else {}
    return any(told.get(name) is True for name in ("readOnlyHint", "idempotentHint"))


def _refuse_unfit(listed: Offered, ours: str) -> None:
    if not _WIRE_NAME.fullmatch(listed.name):
        raise _Unfit("its name has invalid characters")
    if len(ours) > MAX_NAME_CHARS:
        raise _Unfit(f"its name is longer than {MAX_NAME_CHARS} characters")
    if not listed.definition_json:
        raise _Unfit(f"more than {MAX_DEFINITION_BYTES} bytes describe it")
    if listed.trouble:
        raise _Unfit(
            f"the description of its arguments is invalid: {printable_line(listed.trouble, 200)}"
        )


def _schema(schema: object) -> dict[str, object]:
    shown = _shown(schema, 0)
    if not _is_object(shown) or shown.get("type") != "object":
        raise _Unfit("its arguments are not an object")
    if len(json.dumps(shown)) > MAX_SCHEMA_BYTES:
        raise _Unfit(f"its arguments take more than {MAX_SCHEMA_BYTES} bytes")
    fields = shown.setdefault("properties", {})
    if not _is_object(fields) or not all(map(_is_object, fields.values())):
        raise _Unfit("its arguments are not described")
    if odd := [name for name in fields if not _ARGUMENT_NAME.fullmatch(name)]:
        raise _Unfit(f"model services refuse the name of its argument {odd[0][:80]!r}")
    return shown


def _shown(value: object, depth: int, key: str = "") -> object:
    """Clean the texts about an argument; everything else must be clean already."""
    if depth > _MAX_DEPTH:
        raise _Unfit("its arguments are nested too deeply")
    if isinstance(value, dict):
        for name in value:
            _refuse_hidden(name)
        parts = {name: part for name, part in value.items() if not _is_title(name, part)}
        return {name: _shown(part, depth + 1, name) for name, part in parts.items()}
    if isinstance(value, list):
        return [_shown(part, depth + 1) for part in value]
    if isinstance(value, str):
        if key == "description":
            return printable_line(value, _MAX_ABOUT_CHARS)
        _refuse_hidden(value)
    return value


def _refuse_hidden(text: str) -> None:
    if printable_line(text, len(text) + 1) != text:
        raise _Unfit("its arguments contain invisible characters")


def _is_title(name: str, part: object) -> bool:
    """Return true for a `title` that only repeats the name; an argument of that name is kept."""
    return name == "title" and isinstance(part, str)


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)
