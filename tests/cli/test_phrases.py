import json
from pathlib import Path

import pytest

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.cli import exits
from agent.cli.main import main
from agent.storage.phrases import Phrase, PhraseCall, Phrases
from tests.fakes.clock import SteppedClock


@pytest.fixture
def phrases(home: Path, monkeypatch: pytest.MonkeyPatch) -> Phrases:
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(home))
    return Phrases(home / "phrases.json", SteppedClock())


def _learn(phrases: Phrases, text: str, person: str = "owner") -> None:
    call = PhraseCall("board_pulse", '{"pin":"pump","duration":5000}')
    phrases.learn(Phrase(person=person, text=text, calls=(call,)))


def _mei(home: Path) -> str:
    people = PeopleStore(home / "people.json", SteppedClock())
    account = PersonAccount(channel="telegram", sender="7", target="7")
    return people.let_in(PersonRole.USER, account, "mei").person_id


@pytest.mark.usefixtures("phrases")
def test_that_there_are_none_is_said_and_makes_no_file(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["phrases", "list"]) == exits.OK
    assert "no phrases yet" in capsys.readouterr().out
    assert not (home / "phrases.json").exists()


def test_phrases_are_listed_for_people_and_programs(
    phrases: Phrases, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mei = _mei(home)
    _learn(phrases, "water the tomatoes")
    _learn(phrases, "浇花", mei)
    assert main(["phrases", "list"]) == exits.OK
    shown = capsys.readouterr().out
    assert '"water the tomatoes"  board pulse (pin pump, duration 5000)  asks first' in shown
    assert main(["phrases", "list", "--person", "mei", "--json"]) == exits.OK
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["person"], row["text"], row["state"]) == (mei, "浇花", "heard")


def test_a_phrase_is_forgotten_by_its_sentence(
    phrases: Phrases, capsys: pytest.CaptureFixture[str]
) -> None:
    _learn(phrases, "water the tomatoes")
    assert main(["phrases", "forget", "Water the tomatoes!"]) == exits.OK
    assert 'forgot "water the tomatoes"' in capsys.readouterr().out
    assert phrases.every() == ()


def test_all_of_somebody_are_forgotten_by_name(phrases: Phrases, home: Path) -> None:
    _learn(phrases, "water", _mei(home))
    _learn(phrases, "water")
    assert main(["phrases", "forget", "--person", "mei", "--all"]) == exits.OK
    assert [one.person for one in phrases.every()] == ["owner"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["forget"], "--all"),
        (["forget", "water", "--all"], "--all"),
        (["forget", "shine"], 'known: "water"'),
        (["forget", "--all", "--person", "nobody"], "nobody"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(
    phrases: Phrases, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _learn(phrases, "water")
    assert main(["phrases", *words]) == exits.USAGE
    assert complaint in capsys.readouterr().err
    assert len(phrases.every()) == 1


def test_whoever_is_revoked_leaves_no_phrases(phrases: Phrases, home: Path) -> None:
    _learn(phrases, "water", _mei(home))
    _learn(phrases, "water")
    assert main(["revoke", "mei"]) == exits.OK
    assert [one.person for one in phrases.every()] == ["owner"]


def test_calls_that_a_hand_wrote_are_shown_as_they_are(
    phrases: Phrases, capsys: pytest.CaptureFixture[str]
) -> None:
    phrases.learn(Phrase(person="owner", text="x", calls=(PhraseCall("t", "[1"),)))
    assert main(["phrases", "list"]) == exits.OK
    assert "t ([1)" in capsys.readouterr().out
