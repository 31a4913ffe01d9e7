"""The database of a message's way: its schema, and the states a message can be in.

Accepting a message and finishing it are one transaction each, so that a cut at any point leaves
a message either not accepted, or accepted and not answered, or answered and not yet sent.
"""

import enum
from pathlib import Path

from agent.storage.database import SMALL_PAGE_BYTES
from agent.storage.worker import DatabaseWorker


class InboxState(enum.Enum):
    """State of a message from a person."""

    # Committed; the platform may be told that we have it
    ACCEPTED = "accepted"
    # A turn works on it
    RUNNING = "running"
    # Its answer is in the outbox, or was sent while there was no room for it
    ANSWERED = "answered"
    # Its turn came to nothing; its answer says why
    FAILED = "failed"
    # Said on in the next message, and answered with that one
    MERGED = "merged"
    # Too old when it came: told of, not acted on
    STALE = "stale"
    # It broke a turn too often; a person has to look
    PARKED = "parked"
    # Whoever wrote it is gone, such as a closed terminal
    ABANDONED = "abandoned"
    # Open in a backup that was restored, or older than the restore: told of, not acted on
    RESTORED = "restored"
    # Older than the restore, and not told of yet
    UNTOLD = "untold"


class OutboxState(enum.Enum):
    """State of an answer."""

    # Committed, not yet with the platform
    PENDING = "pending"
    # The platform confirmed it
    SENT = "sent"
    # The platform refused it too often
    DEAD = "dead"
    # Not sent in a backup that was restored: told of, not sent
    RESTORED = "restored"


MIGRATIONS = (
    """
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY,
        channel TEXT NOT NULL,
        message_id TEXT NOT NULL,
        sender TEXT NOT NULL,
        reply_target TEXT NOT NULL,
        thread TEXT,
        text TEXT NOT NULL,
        provenance INTEGER NOT NULL,
        received_at_s REAL NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        acted INTEGER NOT NULL DEFAULT 0,
        UNIQUE (channel, message_id)
    );
    CREATE INDEX inbox_open ON inbox (state) WHERE state IN ('accepted', 'running');
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        inbox_id INTEGER NOT NULL UNIQUE REFERENCES inbox (id),
        channel TEXT NOT NULL,
        recipient TEXT NOT NULL,
        thread TEXT,
        in_reply_to TEXT NOT NULL,
        text TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX outbox_open ON outbox (state) WHERE state = 'pending';
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        conversation TEXT NOT NULL,
        message BLOB NOT NULL,
        provenance INTEGER NOT NULL
    );
    CREATE INDEX turns_of ON turns (conversation, id)
    """,
    # What nobody has asked for answers no message
    """
    DROP INDEX outbox_open;
    ALTER TABLE outbox RENAME TO outbox_before;
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        inbox_id INTEGER UNIQUE REFERENCES inbox (id),
        channel TEXT NOT NULL,
        recipient TEXT NOT NULL,
        thread TEXT,
        in_reply_to TEXT NOT NULL,
        text TEXT NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0
    );
    INSERT INTO outbox SELECT * FROM outbox_before;
    DROP TABLE outbox_before;
    CREATE INDEX outbox_open ON outbox (state) WHERE state = 'pending'
    """,
    # The model that a conversation has chosen
    "CREATE TABLE choices (conversation TEXT PRIMARY KEY, model TEXT NOT NULL) WITHOUT ROWID",
    # What was spent on a day, and in a conversation since it began
    """
    CREATE TABLE spent (
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        requests INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        unpriced_tokens INTEGER NOT NULL,
        usd REAL NOT NULL,
        PRIMARY KEY (kind, name)
    ) WITHOUT ROWID
    """,
    # Effects of the last day by what limits them, and the audit log's row before the last one
    """
    CREATE TABLE effects (name TEXT NOT NULL, turn TEXT NOT NULL, at_s REAL NOT NULL);
    CREATE INDEX effects_by_time ON effects (at_s);
    CREATE TABLE audit_anchor (id INTEGER PRIMARY KEY, link TEXT NOT NULL)
    """,
    # Which conversation of its own a message begins where another one is
    "ALTER TABLE inbox ADD COLUMN strand TEXT",
    # What a message brought besides its text, and how far an answer in parts has come
    """
    ALTER TABLE inbox ADD COLUMN more BLOB;
    ALTER TABLE outbox ADD COLUMN parts_sent INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE outbox ADD COLUMN files BLOB
    """,
    # What is left of a conversation's older turns, whose messages are gone
    """
    CREATE TABLE digests (
        conversation TEXT PRIMARY KEY,
        text TEXT NOT NULL,
        provenance INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    # In which start of the machine the last turn on a message began, and how many ended with one
    """
    ALTER TABLE inbox ADD COLUMN boot TEXT NOT NULL DEFAULT '';
    ALTER TABLE inbox ADD COLUMN cuts INTEGER NOT NULL DEFAULT 0
    """,
    # What a model made of the older turns, and those that wait for it
    """
    ALTER TABLE digests ADD COLUMN summary TEXT NOT NULL DEFAULT '';
    CREATE TABLE removed (
        conversation TEXT PRIMARY KEY,
        text TEXT NOT NULL,
        number INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    # Turns on messages that are no longer kept, for whoever counts them
    """
    CREATE TABLE trimmed (turns INTEGER NOT NULL);
    INSERT INTO trimmed VALUES (0)
    """,
)


def open_agent_db(path: Path) -> DatabaseWorker:
    """The journal at `path`, made on first use."""
    return DatabaseWorker(path, MIGRATIONS, SMALL_PAGE_BYTES)
