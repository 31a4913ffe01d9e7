"""Are the databases whole, and was one ever set aside?"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.storage.db import was_set_aside


async def check(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _finding(patient.databases))


def _finding(databases: Sequence[Path]) -> Finding:
    troubles = [trouble for path in databases if (trouble := _trouble(path))]
    if troubles:
        return Finding.failed("; ".join(troubles))
    set_aside = [old for path in databases for old in was_set_aside(path)]
    if set_aside:
        return Finding.warning(
            f"{set_aside[0]} was damaged and set aside: see what it holds, then remove it"
        )
    made = sum(path.exists() for path in databases)
    return Finding.ok(f"{made} databases are whole" if made else "there are none yet")


def _trouble(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError as err:
        return f"{path} cannot be read: {err}"
    return "" if rows == [("ok",)] else f"{path} is damaged: restart barnacle to set it aside"
