import sqlite3
from collections.abc import Iterator

import pytest

from agent.dispatch import session
from agent.dispatch.journal import MIGRATIONS
from agent.dispatch.session import History
from agent.messages import ChatMessage, Echo, Image, Provenance, Role, ToolCall

CALL = ToolCall("1", "lamp", '{"value":"on"}')
TURN = (
    ChatMessage.user("turn it on"),
    ChatMessage.assistant("", (CALL,)),
    ChatMessage.tool(CALL, '{"lamp":"on"}'),
    ChatMessage.assistant("It is on."),
)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    for script in MIGRATIONS:
        connection.executescript(script)
    yield connection
    connection.close()


def keep(
    db: sqlite3.Connection, *messages: ChatMessage, trust: Provenance = Provenance.OWNER
) -> None:
    session.append(db, "c", History(messages, trust))


def test_a_turn_comes_back_as_it_was(db: sqlite3.Connection) -> None:
    keep(db, *TURN)
    assert session.history(db, "c", 50).messages == TURN


def test_what_a_service_wanted_back_is_not_kept(db: sqlite3.Connection) -> None:
    echo = Echo("anthropic", "claude", '[{"thinking":"secret"}]')
    keep(db, ChatMessage.user("go"), ChatMessage.assistant("", (CALL,), echo))
    assert [message.echo for message in session.history(db, "c", 50).messages] == [None, None]
    (blob,) = db.execute("SELECT group_concat(message) FROM turns").fetchone()
    assert "thinking" not in blob


def test_pictures_are_not_kept(db: sqlite3.Connection) -> None:
    picture = Image("image/png", "cGl4ZWxz")
    keep(db, ChatMessage(Role.USER, "what is this? [IMAGE:a.png]", images=(picture,)))
    (message,) = session.history(db, "c", 50).messages
    assert (message.text, message.images) == ("what is this? [IMAGE:a.png]", ())
    (blob,) = db.execute("SELECT group_concat(message) FROM turns").fetchone()
    assert "cGl4ZWxz" not in blob


def test_that_a_result_was_an_error_is_kept(db: sqlite3.Connection) -> None:
    keep(db, *TURN[:2], ChatMessage.tool(CALL, "error: no", is_error=True))
    assert session.history(db, "c", 50).messages[-1].is_error


@pytest.mark.parametrize("limit", range(1, 13))
def test_a_history_never_begins_inside_a_turn(db: sqlite3.Connection, limit: int) -> None:
    for _ in range(3):
        keep(db, *TURN)
    shown = session.history(db, "c", limit).messages
    # As many whole turns as fit
    assert shown == TURN * (limit // len(TURN))


def test_only_what_is_shown_lowers_the_trust(db: sqlite3.Connection) -> None:
    keep(db, *TURN, trust=Provenance.WEB)
    keep(db, *TURN, trust=Provenance.USER)
    assert session.history(db, "c", 8).provenance is Provenance.WEB
    assert session.history(db, "c", 7).provenance is Provenance.USER
    assert session.history(db, "c", 3).provenance is Provenance.OWNER


def test_a_conversation_is_forgotten_alone(db: sqlite3.Connection) -> None:
    keep(db, *TURN)
    session.append(db, "other", History(TURN, Provenance.OWNER))
    assert session.clear(db, "c") == len(TURN)
    assert session.history(db, "c", 50) == History((), Provenance.OWNER)
    assert session.history(db, "other", 50).messages == TURN
