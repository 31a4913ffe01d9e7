"""Phrases on disk: one person's, whole after a cut, bounded, and read again when they change."""

import errno
import json
from pathlib import Path

import pytest

from agent.errors import StorageFull
from agent.storage.phrases import (
    CORRECTION_S,
    MAX_PER_PERSON,
    Phrase,
    PhraseCall,
    Phrases,
    PhraseState,
    phrase_key,
)
from tests.fakes.clock import SteppedClock

CALLS = (PhraseCall("pulse", '{"pin":"pump"}'),)


def said(text: str, person: str = "owner", conversation: str = "c") -> Phrase:
    return Phrase(person=person, text=text, calls=CALLS, conversation=conversation)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def phrases(tmp_path: Path, clock: SteppedClock) -> Phrases:
    return Phrases(tmp_path / "phrases.json", clock)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Water them", "water  them!"),
        ("¡Riega!", "riega"),
        ("浇花。", "浇花"),
        ("ｗａｔｅｒ", "water"),
        ("water\nthem", "water them."),
    ],
)
def test_the_same_sentence_has_the_same_key(one: str, other: str) -> None:
    assert phrase_key(one) == phrase_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("5 seconds", "6 seconds"), ("1.5 s", "15 s"), ("-5", "5"), ("pump on", "pump on?")],
)
def test_numbers_signs_and_question_marks_make_another_sentence(one: str, other: str) -> None:
    assert phrase_key(one) != phrase_key(other)


def test_a_phrase_is_one_persons(phrases: Phrases) -> None:
    phrases.learn(said("water"))
    assert phrases.find("owner", "Water!") is not None
    assert phrases.find("guest", "water") is None


def test_another_process_sees_it_and_may_forget_it(phrases: Phrases, tmp_path: Path) -> None:
    phrases.learn(said("water"))
    other = Phrases(tmp_path / "phrases.json", SteppedClock())
    (known,) = other.of("owner")
    other.forget(known)
    assert phrases.of("owner") == []


def test_the_same_calls_again_leave_it_known_and_others_do_not(phrases: Phrases) -> None:
    phrases.learn(said("water"))
    phrases.confirm(phrases.of("owner")[0], "d")
    phrases.learn(said("water"))
    assert phrases.of("owner")[0].state is PhraseState.KNOWN
    phrases.learn(Phrase(person="owner", text="water", calls=(PhraseCall("pulse", "{}"),)))
    (known,) = phrases.of("owner")
    assert known.state is PhraseState.HEARD


def test_the_one_not_used_for_longest_makes_room_of_its_person_alone(
    phrases: Phrases, clock: SteppedClock
) -> None:
    phrases.learn(said("theirs", "guest"))
    for number in range(MAX_PER_PERSON):
        clock.advance(1)
        phrases.learn(said(f"number {number}"))
    phrases.use(phrases.find("owner", "number 0") or said("?"), "c")
    clock.advance(1)
    phrases.learn(said("one more"))
    assert len(phrases.of("owner")) == MAX_PER_PERSON
    assert phrases.find("owner", "number 0") is not None
    assert phrases.find("owner", "number 1") is None
    assert len(phrases.of("guest")) == 1


def test_what_can_be_corrected_is_the_last_one_or_soon_after(
    phrases: Phrases, clock: SteppedClock
) -> None:
    phrases.learn(said("water"))
    clock.advance(10 * CORRECTION_S)
    assert len(phrases.recent("owner", "c")) == 1
    assert phrases.recent("owner", "elsewhere") == []
    phrases.leave("owner", "c")
    assert phrases.recent("owner", "c") == []
    phrases.use(phrases.of("owner")[0], "c")
    phrases.leave("owner", "c")
    assert len(phrases.recent("owner", "c")) == 1


def test_that_a_conversation_moved_on_is_known_at_once_and_written_with_the_next_change(
    phrases: Phrases, clock: SteppedClock, tmp_path: Path
) -> None:
    phrases.learn(said("water"))
    clock.advance(10 * CORRECTION_S)
    before = (tmp_path / "phrases.json").read_bytes()
    phrases.leave("owner", "c")
    assert (phrases.has_left, phrases.recent("owner", "c")) == (True, [])
    assert (tmp_path / "phrases.json").read_bytes() == before
    clock.advance(1)
    phrases.learn(said("shine"))
    assert not phrases.has_left
    kept = Phrases(tmp_path / "phrases.json", clock).every()
    assert [one.is_last for one in kept] == [False, True]
    phrases.leave("owner", "c")
    phrases.keep_left()
    assert not any(one.is_last for one in Phrases(tmp_path / "phrases.json", clock).every())


def test_a_person_is_forgotten_with_all_phrases(phrases: Phrases) -> None:
    phrases.learn(said("water"))
    phrases.learn(said("shine"))
    phrases.learn(said("water", "guest"))
    assert phrases.forget_person("owner") == 2
    assert phrases.forget_person("owner") == 0
    assert [one.person for one in phrases.every()] == ["guest"]


@pytest.mark.parametrize("damage", ["{", "[]", '{"phrases": 3}', '{"phrases": {"1": {"x": 1}}}'])
def test_a_damaged_file_holds_nothing_and_takes_phrases(
    phrases: Phrases, tmp_path: Path, damage: str
) -> None:
    (tmp_path / "phrases.json").write_text(damage)
    assert phrases.every() == ()
    phrases.learn(said("water"))
    assert len(phrases.of("owner")) == 1


def test_what_is_no_phrase_in_the_file_outlasts_changes(phrases: Phrases, tmp_path: Path) -> None:
    path = tmp_path / "phrases.json"
    later = {"person": "owner", "text": "tea", "calls": [], "state": "of a later version"}
    path.write_text(json.dumps({"phrases": {"7": later}, "notes": {"1": {"by": "hand"}}}))
    phrases.learn(said("water"))
    kept = json.loads(path.read_bytes())
    assert kept["notes"] == {"1": {"by": "hand"}}
    assert later in kept["phrases"].values()
    path.write_text(json.dumps({"phrases": [later]}))
    phrases.learn(said("water"))
    phrases.learn(said("feed"))
    assert [rows for rows in json.loads(path.read_bytes()).values() if rows == [later]] == [[later]]
    assert len(phrases.of("owner")) == 2


def test_looking_makes_no_file(phrases: Phrases, tmp_path: Path) -> None:
    assert phrases.of("owner") == []
    assert phrases.forget_person("owner") == 0
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_for_a_moment_loses_nothing(
    phrases: Phrases, tmp_path: Path, clock: SteppedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    phrases.learn(said("water them"))
    restarted = Phrases(tmp_path / "phrases.json", clock)

    def worn(_path: Path) -> bytes:
        raise OSError(errno.EIO, "a worn sector")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", worn)
        with pytest.raises(StorageFull, match="was not changed: a worn sector"):
            phrases.learn(said("feed them"))
        assert restarted.of("owner") == []
    for one in (phrases, restarted):
        assert [phrase.text for phrase in one.of("owner")] == ["water them"]
