"""Row form of a memory in the shared brain: its columns, and texts as PostgreSQL can hold them."""

import re
from collections.abc import Sequence

from agent.memory.base import MemoryEntry, Scope
from agent.memory.text import tokens
from agent.messages import Provenance

# The fields of an entry, in the order in which `entry_of` reads them
COLUMNS = (
    "id, key, content, category, provenance, person, people, device, session, created_at_s,"
    " updated_at_s, importance, pinned, superseded_by, source"
)
# PostgreSQL's texts hold no NUL: it becomes a private letter and a 0, that letter twice itself
_ESCAPE = "\ue000"
_ESCAPED = re.compile(f"{_ESCAPE}(.)", re.DOTALL)

Row = Sequence[object]


def entry_of(row: Row) -> MemoryEntry:
    key, content, category, provenance, person, people, device, session = row[1:9]
    return MemoryEntry(
        int(str(row[0])),
        restored(key),
        restored(content),
        restored(category),
        # An unknown source is trusted least
        Provenance.__members__.get(str(provenance).upper(), Provenance.WEB),
        Scope(_named(person), _named(session), _named(people), _named(device)),
        float(str(row[9])),
        float(str(row[10])),
        importance=float(str(row[11])),
        pinned=bool(row[12]),
        superseded_by=None if row[13] is None else int(str(row[13])),
        source=restored(row[14]),
    )


def escaped(text: str) -> str:
    """Return the text as PostgreSQL can hold it."""
    return text.replace(_ESCAPE, _ESCAPE * 2).replace("\x00", f"{_ESCAPE}0")


def restored(value: object) -> str:
    return _ESCAPED.sub(lambda found: "\x00" if found[1] == "0" else found[1], str(value))


def owners_of(scope: Scope) -> list[str]:
    return list(map(name_of, scope.owners))


def name_of(name: str) -> str:
    """Return the name of an owner or a session as PostgreSQL holds it."""
    return escaped(_clean(name))


def words_of(text: str) -> str:
    """Return the search tokens of a text, with a space before and after each."""
    return f" {' '.join(tokens(text))} "


def optional(text: str | None) -> str | None:
    """Return the name as PostgreSQL holds it; None stays."""
    return None if text is None else escaped(_clean(text))


def _named(value: object) -> str | None:
    return None if value is None else restored(value)


def _clean(text: str) -> str:
    """Replace lone surrogates by question marks, because no database holds them."""
    return text.encode(errors="replace").decode()
