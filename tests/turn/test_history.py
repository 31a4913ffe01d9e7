import sqlite3
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import ChatMessage, Provenance, ToolCall
from agent.messaging.journal import MIGRATIONS
from agent.turn import history
from agent.turn import history as turn_history
from agent.turn.compaction import STALE_RESULT_CHARS
from agent.turn.history import History, HistoryCache
from tests.fakes.said import assistant_said, tool_said, user_said

CALL = ToolCall("1", "lamp", '{"value":"on"}')
MOST_TOKENS = 900

# Whole turns, and what is left of some that were cut off or written by an older release
USUAL = (user_said("hello"), assistant_said("hi"))
WITH_A_TOOL = (
    user_said("look [IMAGE:a.png]"),
    assistant_said("", (CALL,)),
    tool_said(CALL, "x" * (STALE_RESULT_CHARS + 200)),
    assistant_said("done"),
)
SAID = [
    USUAL,
    WITH_A_TOOL,
    USUAL[:1],
    WITH_A_TOOL[:2],
    WITH_A_TOOL[:3],
    WITH_A_TOOL[2:],
    (USUAL[0], WITH_A_TOOL[2]),
    USUAL[1:],
    (*USUAL, *USUAL),
]


def opened() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    for script in MIGRATIONS:
        connection.executescript(script)
    return connection


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = opened()
    yield connection
    connection.close()


def keep(db: sqlite3.Connection, conversation: str, *messages: ChatMessage) -> None:
    turn_history.append(db, conversation, History(messages, Provenance.OWNER))


_STEPS: dict[str, Callable[[HistoryCache, sqlite3.Connection], object]] = {
    "bound": lambda kept, db: kept.bound(db, "c", MOST_TOKENS),
    "halve": lambda kept, db: kept.halve(db, "c"),
    "clear": lambda kept, db: kept.clear(db, "c"),
    "other": lambda _kept, db: keep(db, "other", *USUAL),
}
_TURNS = st.tuples(st.sampled_from(SAID), st.sampled_from(Provenance))
_STEPS_BETWEEN = st.none() | st.sampled_from(sorted(_STEPS))


@given(st.lists(st.tuples(st.lists(_TURNS, min_size=8, max_size=24), _STEPS_BETWEEN), max_size=4))
def test_what_is_kept_is_what_the_database_says(
    said: list[tuple[list[tuple[tuple[ChatMessage, ...], Provenance]], str | None]],
) -> None:
    db, kept = opened(), HistoryCache()
    for turns, step in said:
        for turn in turns:
            turn_history.append(db, "c", History(*turn))
            assert kept.history(db, "c") == turn_history.history(db, "c")
        if step is not None:
            _STEPS[step](kept, db)
            assert kept.history(db, "c") == turn_history.history(db, "c")
    db.close()


def test_a_long_conversation_is_not_read_again(db: sqlite3.Connection) -> None:
    kept = HistoryCache()
    for _ in range(40):
        keep(db, "c", *WITH_A_TOOL)
    before = kept.history(db, "c").messages
    keep(db, "c", *USUAL)
    read: list[str] = []
    db.set_trace_callback(read.append)
    after = kept.history(db, "c").messages
    last = db.execute("SELECT max(id) FROM turns").fetchone()[0] - len(USUAL)
    assert any(f"id > {last} " in statement for statement in read)
    assert after == turn_history.history(db, "c").messages
    # And what was said long ago is the same object, known to whoever has seen it
    assert all(one is other for one, other in zip(before[:100], after[:100], strict=True))


def test_whether_a_conversation_is_too_long_is_known_without_reading_it(
    db: sqlite3.Connection,
) -> None:
    kept = HistoryCache()
    keep(db, "c", *USUAL * 9)
    kept.history(db, "c")
    keep(db, "c", *USUAL)
    read: list[str] = []
    db.set_trace_callback(read.append)
    assert not kept.bound(db, "c", MOST_TOKENS)
    assert [f"id > {len(USUAL) * 9} " in statement for statement in read] == [True]


def test_what_was_not_committed_is_not_kept(db: sqlite3.Connection) -> None:
    kept = HistoryCache()
    keep(db, "c", *USUAL)
    db.commit()
    kept.history(db, "c")
    keep(db, "c", *WITH_A_TOOL * 9)
    assert kept.bound(db, "c", MOST_TOKENS)
    db.rollback()
    assert kept.history(db, "c").messages == USUAL


def test_more_than_there_is_room_for_is_read_again(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_KEPT_TOKENS", 100)
    kept = HistoryCache()
    for name in "abc":
        keep(db, name, *USUAL * 3)
        kept.history(db, name)
    for name in "abc":
        assert kept.history(db, name).messages == USUAL * 3
    assert len(kept._known) == 2


def test_conversations_in_which_nothing_is_said_are_not_counted_for_ever(
    db: sqlite3.Connection,
) -> None:
    kept = HistoryCache()
    for number in range(2 * history.MOST_KEPT):
        kept.history(db, f"job-{number}")
    assert len(kept._known) == history.MOST_KEPT
