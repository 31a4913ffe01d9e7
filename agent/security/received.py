"""Folders of the files that people send: each person's and each group's part of the workspace.

A folder is named after the id of its owner, never after a name that somebody chose; two ids never
share a folder.
"""

import hashlib
import re

# The folder in the workspace that holds all of them
RECEIVED = "received"
# What file_list and file_read take for the folder of whoever asks; nobody's folder is called so
MINE = f"{RECEIVED}/mine"
_GROUP = "group-"
_MAX_CHARS = 40
_UNFIT = re.compile(r"[^a-z0-9-]+")
_HASH_CHARS = 8


def folder_of_person(person: str) -> str:
    """Return the name of a person's folder in `RECEIVED`."""
    # No person's folder is taken for that of a group, or of whoever asks
    is_plain = not person.startswith(_GROUP) and f"{RECEIVED}/{person}" != MINE
    return _named(person, is_plain=is_plain)


def folder_of_group(chat: str) -> str:
    """Return the name of a group's folder in `RECEIVED`; `chat` is its channel and id."""
    return _GROUP + _named(chat, is_plain=True)


def owner_of(path: str) -> str:
    """Return the folder in `RECEIVED` that the path is or lies in; empty for any other path."""
    top, _, below = path.partition("/")
    return below.partition("/")[0] if top == RECEIVED else ""


def is_received(path: str) -> bool:
    """Return true if somebody sent what is there."""
    return path.partition("/")[0] == RECEIVED


def _named(known: str, *, is_plain: bool) -> str:
    shown = _UNFIT.sub("-", known.lower()).strip("-")[:_MAX_CHARS]
    if shown and is_plain and shown == known:
        return shown
    # Whatever was left out tells two ids apart all the same
    return f"{shown}-{hashlib.sha256(known.encode(errors='replace')).hexdigest()[:_HASH_CHARS]}"
