"""The counts and the anchor of an agent, as others read them: its database is never changed."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from agent.dispatch import tally
from agent.security.chain import Link
from agent.security.policy import Counters


def anchor(path: Path) -> Link | None:
    """The row of the audit log that is known from elsewhere; None where there is none."""
    connection = _opened(path)
    if connection is None:
        return None
    with closing(connection):
        try:
            return tally.anchored(connection)
        except (sqlite3.DatabaseError, ValueError):
            return None


def counters(path: Path) -> Counters:
    """What was done in the last hour and day; nothing where that is not known."""
    connection = _opened(path)
    if connection is None:
        return {}
    with closing(connection):
        try:
            return tally.done(connection, "", time.time())
        except sqlite3.DatabaseError:
            return {}


def _opened(path: Path) -> sqlite3.Connection | None:
    try:
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.OperationalError:
        return None
