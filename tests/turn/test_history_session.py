import sqlite3
from collections.abc import Iterator

import pytest

from agent.messages import ChatMessage, Echo, Image, Provenance, Role, ToolCall
from agent.messaging.journal import MIGRATIONS
from agent.turn import history
from agent.turn.compaction import tokens_of
from agent.turn.history import History
from tests.fakes.said import assistant_said, tool_said, user_said, words

CALL = ToolCall("1", "lamp", '{"value":"on"}')
TURN = (
    user_said("turn it on"),
    assistant_said("", (CALL,)),
    tool_said(CALL, '{"lamp":"on"}'),
    assistant_said("It is on."),
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
    history.append(db, "c", History(messages, trust))


def test_a_turn_comes_back_as_it_was(db: sqlite3.Connection) -> None:
    keep(db, *TURN)
    assert history.history(db, "c").messages == TURN


def test_what_a_service_wanted_back_is_not_kept(db: sqlite3.Connection) -> None:
    echo = Echo("anthropic", "claude", '[{"thinking":"secret"}]')
    keep(db, user_said("go"), assistant_said("", (CALL,), echo))
    assert [message.echo for message in history.history(db, "c").messages[:2]] == [None, None]
    (blob,) = db.execute("SELECT group_concat(message) FROM turns").fetchone()
    assert "thinking" not in blob


def test_pictures_are_not_kept(db: sqlite3.Connection) -> None:
    picture = Image("image/png", "cGl4ZWxz")
    keep(db, ChatMessage(Role.USER, words("what is this? [IMAGE:a.png]"), images=(picture,)))
    (message,) = history.history(db, "c").messages
    assert (message.text, message.images) == ("what is this? [IMAGE:a.png]", ())
    (blob,) = db.execute("SELECT group_concat(message) FROM turns").fetchone()
    assert "cGl4ZWxz" not in blob


def test_that_a_result_was_an_error_is_kept(db: sqlite3.Connection) -> None:
    keep(db, *TURN[:2], tool_said(CALL, "error: no", is_error=True))
    assert history.history(db, "c").messages[-1].is_error


def test_a_history_within_its_bound_is_left_alone(db: sqlite3.Connection) -> None:
    keep(db, *TURN)
    assert not history.bound(db, "c", 500)
    assert history.history(db, "c") == History(TURN, Provenance.OWNER)


@pytest.mark.parametrize("most", range(60, 1200, 95))
def test_a_history_is_bounded_in_tokens_and_never_begins_inside_a_turn(
    db: sqlite3.Connection, most: int
) -> None:
    for number in range(40):
        keep(db, user_said(f"{number} {'word ' * 20}"), *TURN[1:])
        history.bound(db, "c", most)
        shown = history.history(db, "c").messages
        assert sum(map(tokens_of, shown)) <= most or len(shown) == len(TURN)
        assert [message.role for message in shown[:4]] == [message.role for message in TURN]
    assert shown[-4].text.startswith("39 ")
    assert db.execute("SELECT count(*) FROM turns").fetchone()[0] == len(shown)


def test_a_bound_is_reached_once_in_many_turns(db: sqlite3.Connection) -> None:
    keep(db, *TURN * 10)
    changes = 0
    for _ in range(30):
        keep(db, *TURN)
        changes += history.bound(db, "c", 1000)
    assert 1 <= changes <= 6


def test_what_goes_leaves_a_digest(db: sqlite3.Connection) -> None:
    keep(db, user_said("my cat is called Mia"), assistant_said("Nice name."))
    for _ in range(30):
        keep(db, *TURN)
    history.bound(db, "c", 300)
    shown = history.history(db, "c")
    assert "Mia" not in "".join(message.text for message in shown.messages)
    assert shown.digest.text.startswith("- person: my cat is called Mia\n- you: Nice name.")


def test_one_turn_that_is_too_long_loses_the_length_of_its_results(db: sqlite3.Connection) -> None:
    keep(db, *TURN[:2], tool_said(CALL, "x" * 50_000), TURN[3])
    assert history.bound(db, "c", 2000)
    shown = history.history(db, "c").messages
    assert [message.role for message in shown] == [message.role for message in TURN]
    assert len(shown[2].text) < 3000


def test_a_conversation_that_no_model_can_be_shown_is_halved(db: sqlite3.Connection) -> None:
    for _ in range(8):
        keep(db, *TURN)
    history.halve(db, "c")
    assert history.history(db, "c").messages == TURN * 4


def test_what_is_shown_lowers_the_trust_and_so_does_its_digest(db: sqlite3.Connection) -> None:
    keep(db, *TURN, trust=Provenance.WEB)
    for _ in range(8):
        keep(db, *TURN, trust=Provenance.USER)
    assert history.history(db, "c").provenance is Provenance.WEB
    history.bound(db, "c", 200)
    shown = history.history(db, "c")
    assert len(shown.messages) < 5 * len(TURN)
    # It is told what was said there, so it counts
    assert shown.provenance is Provenance.WEB


def test_a_conversation_is_forgotten_alone(db: sqlite3.Connection) -> None:
    keep(db, *TURN)
    history.append(db, "other", History(TURN, Provenance.OWNER))
    db.execute("INSERT INTO digests VALUES ('c', '- person: hi', 5, '')")
    assert history.clear(db, "c") == len(TURN)
    assert history.history(db, "c") == history.NOTHING_SAID
    assert history.history(db, "other").messages == TURN


def _talked(db: sqlite3.Connection, *conversations: str) -> None:
    for conversation in conversations:
        for _ in range(4):
            history.append(db, conversation, History(TURN, Provenance.OWNER))
        history.bound(db, conversation, 10, is_summarised=True)
        _spent(db, conversation)


def _spent(db: sqlite3.Connection, conversation: str) -> None:
    db.execute(
        "INSERT OR REPLACE INTO spent VALUES ('conversation', ?, 1, 1, 1, 0, 0, 0.0)",
        (conversation,),
    )


def _known(db: sqlite3.Connection) -> list[set[str]]:
    tables = {"turns": "conversation", "digests": "conversation", "removed": "conversation"}
    return [
        {row[0] for row in db.execute(f"SELECT {column} FROM {table}")}
        for table, column in {**tables, "spent": "name"}.items()
    ]


def test_the_conversations_that_rested_longest_go_whole(db: sqlite3.Connection) -> None:
    _talked(db, "fake_a", "fake_b", "fake_c", "fake_a", "fake_d")
    assert history.trim(db, most=2) == ["fake_c", "fake_b"]
    assert _known(db) == [{"fake_a", "fake_d"}] * 4
    assert history.trim(db, most=2) == []


def test_a_noisy_channel_takes_no_conversation_from_a_quiet_one(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LEAST_OF_CHANNEL", 1)
    _talked(db, "quiet_a", "quiet_b", *(f"noisy_{number}" for number in range(5)))
    assert history.trim(db, most=3) == ["noisy_1", "noisy_0", "quiet_a"]
    assert _known(db) == [{"quiet_b", "noisy_2", "noisy_3", "noisy_4"}] * 4


def test_costs_of_conversations_that_came_to_nothing_go_too(db: sqlite3.Connection) -> None:
    _talked(db, "fake_a", "fake_b")
    for number in range(2):
        _spent(db, f"fake_failed-{number}")
    history.trim(db, most=2)
    assert len(_known(db)[-1]) == 4
    _spent(db, "fake_failed-2")
    history.trim(db, most=2)
    assert _known(db)[-1] == {"fake_a", "fake_b"}


def test_what_was_trimmed_is_not_shown_from_the_cache(
    db: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history.trim, "__defaults__", (1,))
    cache = history.HistoryCache()
    _talked(db, "fake_a", "fake_b")
    assert cache.history(db, "fake_a").messages
    cache.trim(db)
    assert cache.history(db, "fake_a") == history.NOTHING_SAID
    assert cache.history(db, "fake_b").messages
