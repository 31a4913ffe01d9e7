"""History of a conversation in the database, and a cache of the histories in use.

A turn reads what the turn before it has added, not everything again. The database has the say:
only what it has committed is kept here, and what is taken out of it is let go here first.
Used in the thread of the journal alone.
"""

import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from operator import attrgetter

import msgspec
from msgspec import Struct, field

from agent.messages import ChatMessage, Role, ToolCall
from agent.passage import Passage, Provenance, outside
from agent.turn.compaction import (
    DIGEST_CHARS,
    FRESH_TURNS,
    digest,
    normalised,
    tokens_of,
    with_short_result,
    without_ballast,
)

_encode = msgspec.json.Encoder().encode

# Of what is allowed, so much is left by a compaction: the beginning that a service has cached
# changes once in many turns, not in every one
KEPT_SHARE = 0.6
# Of the results of a turn that is too long by itself; as much as of one that no model took
LONGEST_RESULT_CHARS = 2000
# A message in the database takes about this many bytes for a token, rather fewer
_BYTES_PER_TOKEN = 3

# Conversations that are kept: a year of 13 new ones a day, some 40 MB of those that stay short.
# Callers that name none begin one with each request
MOST_CONVERSATIONS = 5_000
# So many of each channel stay, however much is said on others
LEAST_OF_CHANNEL = 100
# More than begin between two looks, so that a store from before this limit shrinks
_MOST_TRIMMED = 512

NOTHING = Passage("", Provenance.OWNER, "")
# Of what was said earlier
FROM_HISTORY = "an earlier turn of this conversation"


class History(Struct, frozen=True):
    """Messages, and the lowest trust of anything that was read for them.

    Args:
        digest: what is left of the turns before them.
    """

    messages: tuple[ChatMessage, ...]
    provenance: Provenance
    digest: Passage = NOTHING


class StoredMessage(Struct, frozen=True):
    """One row."""

    row_id: int
    message: ChatMessage
    provenance: Provenance
    tokens: int


class _MessageRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message as it is written; what a service wanted back belongs to the turn that is over."""

    role: Role
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool_name: str = ""
    is_error: bool = False
    is_recalled: bool = False


_decode = msgspec.json.Decoder(_MessageRow).decode
_STORED = attrgetter(*_MessageRow.__struct_fields__)

NOTHING_SAID = History((), Provenance.OWNER)


def append(connection: sqlite3.Connection, conversation: str, said: History) -> None:
    """Add what a turn said, as a whole."""
    connection.executemany(
        "INSERT INTO turns (conversation, message, provenance) VALUES (?, ?, ?)",
        [(conversation, _written(message), int(said.provenance)) for message in said.messages],
    )


def history(connection: sqlite3.Connection, conversation: str) -> History:
    """Everything that is kept of the conversation, oldest first, fit to be shown."""
    shown = turns_in(rows(connection, conversation))
    text, trust = digest_of(connection, conversation)
    messages = without_ballast(normalised(row.message for row in shown))
    lowest = min((trust, *(row.provenance for row in shown)))
    return History(messages, lowest, digested(text, trust))


def digested(text: str, trust: Provenance) -> Passage:
    return outside(text, trust, FROM_HISTORY) if text else NOTHING


def rows(connection: sqlite3.Connection, conversation: str, after: int = 0) -> list[StoredMessage]:
    """Everything as it is kept, or what was added after the row with this number."""
    found = connection.execute(
        "SELECT id, message, provenance FROM turns WHERE conversation = ? AND id > ? ORDER BY id",
        (conversation, after),
    )
    return [_kept(row_id, _decode(blob), trust) for row_id, blob, trust in found]


def turns_in(kept: list[StoredMessage]) -> list[StoredMessage]:
    """Without the rest of a turn whose beginning is missing."""
    starts = (place for place, row in enumerate(kept) if row.message.role is Role.USER)
    return kept[next(starts, len(kept)) :]


def digest_of(connection: sqlite3.Connection, conversation: str) -> tuple[str, Provenance]:
    """Return the digest of removed turns, and the lowest trust of them."""
    summary, lines, trust = _notes(connection, conversation)
    return "\n".join(filter(None, (summary, lines))), trust


def _notes(connection: sqlite3.Connection, conversation: str) -> tuple[str, str, Provenance]:
    """Return the model's summary, the mechanical digest of what came after it, and their trust."""
    row = connection.execute(
        "SELECT summary, text, provenance FROM digests WHERE conversation = ?", (conversation,)
    ).fetchone()
    return (row[0], row[1], Provenance(row[2])) if row else ("", "", Provenance.OWNER)


def bound(
    connection: sqlite3.Connection,
    conversation: str,
    max_tokens: int,
    *,
    is_summarised: bool = False,
) -> bool:
    """Keep the conversation within `max_tokens`; whether anything had to go.

    Args:
        is_summarised: a model makes a summary of what goes, later.
    """
    (size_bytes,) = connection.execute(
        "SELECT coalesce(sum(length(message)), 0) FROM turns WHERE conversation = ?",
        (conversation,),
    ).fetchone()
    # Mostly this is all that is looked at
    if size_bytes <= max_tokens * _BYTES_PER_TOKEN:
        return False
    kept = rows(connection, conversation)
    if sum(row.tokens for row in kept) <= max_tokens:
        return False
    tokens = int(max_tokens * KEPT_SHARE)
    _compact(connection, conversation, kept, tokens, is_summarised=is_summarised)
    return True


def halve(
    connection: sqlite3.Connection, conversation: str, *, is_summarised: bool = False
) -> None:
    """Keep about half: a model could not be shown all of it."""
    kept = rows(connection, conversation)
    tokens = sum(row.tokens for row in kept) // 2
    _compact(connection, conversation, kept, tokens, is_summarised=is_summarised)


def clear(connection: sqlite3.Connection, conversation: str) -> int:
    """Forget the conversation, not the memories; the number of messages removed."""
    # The next one has its own limits; what the day has cost stays
    connection.execute(
        "DELETE FROM spent WHERE kind = 'conversation' AND name = ?", (conversation,)
    )
    connection.execute("DELETE FROM digests WHERE conversation = ?", (conversation,))
    connection.execute("DELETE FROM removed WHERE conversation = ?", (conversation,))
    return connection.execute("DELETE FROM turns WHERE conversation = ?", (conversation,)).rowcount


def trim(connection: sqlite3.Connection, most: int = MOST_CONVERSATIONS) -> list[str]:
    """Forget the conversations beyond so many that have rested longest; return them.

    The newest of each channel stay, however many there are of others.
    """
    rows = connection.execute(
        "SELECT conversation FROM turns GROUP BY conversation ORDER BY max(id) DESC"
    )
    of_channel: Counter[str] = Counter()
    gone = []
    for place, (conversation,) in enumerate(rows):
        channel, _, _ = conversation.partition("_")
        of_channel[channel] += 1
        if place >= most and of_channel[channel] > min(most, LEAST_OF_CHANNEL):
            gone.append(conversation)
    gone = gone[-_MOST_TRIMMED:]
    for conversation in gone:
        clear(connection, conversation)
    # Conversations of which only the costs are known, such as those of turns that failed
    connection.execute(
        "DELETE FROM spent WHERE kind = 'conversation'"
        " AND (SELECT count(*) FROM spent WHERE kind = 'conversation') > ?"
        " AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.conversation = spent.name)",
        (2 * most,),
    )
    return gone


def _written(message: ChatMessage) -> bytes:
    return _encode(_MessageRow(*_STORED(message)))


def _kept(row_id: int, stored: _MessageRow, trust: int) -> StoredMessage:
    provenance = Provenance(trust)
    message = ChatMessage(
        stored.role,
        # Every message of a turn is trusted as little as the turn was in the end
        outside(stored.text, provenance, ""),
        stored.tool_calls,
        call_id=stored.call_id,
        tool_name=stored.tool_name,
        is_error=stored.is_error,
        is_recalled=stored.is_recalled,
    )
    return StoredMessage(row_id, message, provenance, tokens_of(message))


def _compact(
    connection: sqlite3.Connection,
    conversation: str,
    kept: Sequence[StoredMessage],
    tokens: int,
    *,
    is_summarised: bool,
) -> None:
    """Let the oldest turns go until the rest costs at most `tokens`; the newest turn stays."""
    gone, rest = _divided(kept, tokens)
    summary, earlier, trust = _notes(connection, conversation)
    # What a memory led to is not carried on as the conversation's own; the memory is still there
    told = [row for row in gone if not row.message.is_recalled]
    said = [row.message for row in told]
    text = digest(earlier, said, DIGEST_CHARS // 2 if summary else DIGEST_CHARS)
    if gone:
        lowest = min((trust, *(row.provenance for row in told)))
        connection.execute(
            "INSERT INTO digests (conversation, text, provenance) VALUES (?, ?, ?)"
            " ON CONFLICT (conversation) DO UPDATE SET text = excluded.text,"
            " provenance = excluded.provenance",
            (conversation, text, int(lowest)),
        )
        if is_summarised:
            from agent.turn.summary import note_removed  # noqa: PLC0415 - few turns compact anything

            note_removed(connection, conversation, said)
        connection.execute(
            "DELETE FROM turns WHERE conversation = ? AND id <= ?", (conversation, gone[-1].row_id)
        )
    if sum(row.tokens for row in rest) > tokens:
        _cut_results(connection, rest)


def _divided(
    kept: Sequence[StoredMessage], tokens: int
) -> tuple[Sequence[StoredMessage], Sequence[StoredMessage]]:
    left, start = tokens, len(kept)
    starts = [place for place, row in enumerate(kept) if row.message.role is Role.USER]
    for place in reversed(starts):
        left -= sum(row.tokens for row in kept[place:start])
        if left < 0 and start < len(kept):
            break
        start = place
    return kept[:start], kept[start:]


def _cut_results(connection: sqlite3.Connection, rest: Sequence[StoredMessage]) -> None:
    """One turn that is too long by itself loses the length of its results."""
    connection.executemany(
        "UPDATE turns SET message = ? WHERE id = ?",
        [
            (_written(with_short_result(row.message, LONGEST_RESULT_CHARS)), row.row_id)
            for row in rest
            if row.message.role is Role.TOOL
        ],
    )


# All conversations together: half a megabyte of English, in Python three times that
MOST_KEPT_TOKENS = 128_000
# Jobs have conversations of their own: short ones, and many
MOST_KEPT = 64
# So many turns are made fit to be shown anew, in every turn; those before them stay as they are
_OPEN_TURNS = FRESH_TURNS + 5


class _Known(Struct):
    """A conversation as far as it was read.

    Args:
        settled: what older turns look like to a model from now on.
        open: the rows of the newest turns, whose look still changes.
    """

    last_id: int = 0
    tokens: int = 0
    provenance: Provenance = Provenance.OWNER
    settled: tuple[ChatMessage, ...] = ()
    open: list[StoredMessage] = field(default_factory=list)

    def take(self, added: list[StoredMessage]) -> None:
        self.last_id = added[-1].row_id
        self.tokens += sum(row.tokens for row in added)
        self.open = turns_in([*self.open, *added])
        self._settle()

    def shown(self) -> tuple[ChatMessage, ...]:
        return self.settled + without_ballast(normalised(row.message for row in self.open))

    def _settle(self) -> None:
        # What follows an answer begins a turn of its own, whatever becomes of the rows before it
        roles = [row.message.role for row in self.open]
        ends = [at for at, role in enumerate(roles[1:], 1) if role is Role.USER]
        starts = [at for at in ends if roles[at - 1] is Role.ASSISTANT]
        if len(starts) < _OPEN_TURNS:
            return
        old, self.open = self.open[: starts[-FRESH_TURNS]], self.open[starts[-FRESH_TURNS] :]
        shown = normalised(row.message for row in old)
        self.settled += without_ballast(shown, fresh_turns=0)
        self.provenance = min(self.provenance, *(row.provenance for row in old))


class HistoryCache:
    """Cache of the histories in `session`: a turn reads only what is new.

    Args:
        makes_summaries: a model sums up what goes, later.
    """

    def __init__(self, makes_summaries: Callable[[], bool] = lambda: False) -> None:
        self._makes_summaries = makes_summaries
        # The one that was looked at last is the last
        self._known: OrderedDict[str, _Known] = OrderedDict()
        # Conversations that a person began anew since their last turn began
        self.begun_anew: set[str] = set()

    def history(self, connection: sqlite3.Connection, conversation: str) -> History:
        """As `history`; for a transaction that has changed nothing."""
        known = self._known.setdefault(conversation, _Known())
        self._known.move_to_end(conversation)
        if added := rows(connection, conversation, after=known.last_id):
            known.take(added)
        self._make_room()
        digest, trust = digest_of(connection, conversation)
        trusts = (trust, known.provenance, *(row.provenance for row in known.open))
        return History(known.shown(), min(trusts), digested(digest, trust))

    def bound(self, connection: sqlite3.Connection, conversation: str, max_tokens: int) -> bool:
        """As `bound`."""
        if (known := self._known.get(conversation)) is not None:
            added = rows(connection, conversation, after=known.last_id)
            if known.tokens + sum(row.tokens for row in added) <= max_tokens:
                return False
        self._forget(conversation)
        is_summarised = self._makes_summaries()
        return bound(connection, conversation, max_tokens, is_summarised=is_summarised)

    def halve(self, connection: sqlite3.Connection, conversation: str) -> None:
        """As `halve`."""
        self._forget(conversation)
        halve(connection, conversation, is_summarised=self._makes_summaries())

    def clear(self, connection: sqlite3.Connection, conversation: str) -> int:
        """As `clear`."""
        self._forget(conversation)
        return clear(connection, conversation)

    def trim(self, connection: sqlite3.Connection) -> None:
        """As `trim`."""
        for conversation in trim(connection):
            self._forget(conversation)

    def _forget(self, conversation: str) -> None:
        self._known.pop(conversation, None)

    def _make_room(self) -> None:
        tokens = sum(known.tokens for known in self._known.values())
        while tokens > MOST_KEPT_TOKENS or len(self._known) > MOST_KEPT:
            _, oldest = self._known.popitem(last=False)
            tokens -= oldest.tokens
