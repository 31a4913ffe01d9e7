"""What the journal of an agent says of its answers, whether the agent lives or was killed.

What is written there is durable: a test that reads it need not know how quick the machine is.
"""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

JOURNAL = "agent.db"


def confirmed(folder: Path) -> set[str]:
    """The texts that a dead agent knows to be with the platform: they are never sent again."""
    with tempfile.TemporaryDirectory() as made:
        # Opening the journal repairs it, which is for the next agent to do
        for name in (JOURNAL, f"{JOURNAL}-wal"):
            if (folder / name).exists():
                shutil.copy(folder / name, made)
        return _sent(Path(made) / JOURNAL)


def all_confirmed(folder: Path, texts: set[str]) -> bool:
    """Whether an agent that lives has written down of each that it is with the platform."""
    return texts <= _sent(folder / JOURNAL)


def _sent(path: Path) -> set[str]:
    if not path.exists():
        return set()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True)) as journal:
        if not journal.execute("SELECT 1 FROM sqlite_master WHERE name = 'outbox'").fetchone():
            return set()
        return {text for (text,) in journal.execute("SELECT text FROM outbox WHERE state = 'sent'")}
