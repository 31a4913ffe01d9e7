import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.cli import exits
from agent.cli.main import main
from agent.embeddings.none import NoEmbedder
from agent.memory.base import CONVERSATION, CORE, Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Provenance
from tests.fakes.clock import SteppedClock

OWNER = Scope("owner", "terminal_owner")
# 2026-10-09 and a week later
FIRST_S, LATER_S = 1_760_000_000.0, 1_760_604_800.0
PAGE = "https://example.org/pump"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("BARNACLE_MODEL_DIR", str(tmp_path / "no-model"))
    monkeypatch.setattr("agent.settings.SYSTEM_CONFIG", tmp_path / "none.toml")
    path = tmp_path / "state" / "memory" / "brain.db"
    asyncio.run(remember(path))
    return path


@pytest.fixture
def honolulu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where it is still the day before, when the first memories are said."""
    with monkeypatch.context() as there:
        there.setenv("TZ", "HST10")
        time.tzset()
        yield
    time.tzset()


async def remember(path: Path) -> None:
    memory = SqliteMemory(path, NoEmbedder(), SteppedClock())
    for key, said, at_s in (
        ("boiler-1", "the boiler is in the cellar", FIRST_S),
        ("boiler-2", "the boiler is in the kitchen", LATER_S),
        ("car", "the car was washed", FIRST_S),
    ):
        entry = await memory.store(key, said, scope=OWNER, provenance=Provenance.OWNER)
        await memory.mark(key, OWNER, said_at_s=at_s)
        await memory.settle(entry)
    drawn = "The boiler leaks at night"
    await memory.store("leak", drawn, scope=OWNER, provenance=Provenance.OWNER, source="chat#1-2")
    message = "you know, the boiler leaks at night and I hate it"
    await memory.store(
        "", message, category=CONVERSATION, scope=OWNER, provenance=Provenance.OWNER, source="chat"
    )
    await memory.store("manual", "the boiler needs 2 bar", scope=OWNER, source=PAGE, category=CORE)
    await memory.store("tea", "likes tea", scope=Scope("guest"), provenance=Provenance.USER)
    await memory.aclose()


def keys(capsys: pytest.CaptureFixture[str], person: str = "owner") -> set[str]:
    capsys.readouterr()
    main(["memory", "list", "--person", person, "--json"])
    return {entry["key"] for entry in json.loads(capsys.readouterr().out)}


def test_a_timeline_has_all_of_a_thing_in_order_with_what_is_no_longer_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["memory", "timeline", "boiler", "--json"]) == exits.OK
    told = json.loads(capsys.readouterr().out)
    assert [entry["key"] for entry in told[:2]] == ["boiler-1", "boiler-2"]
    assert told[0]["until"] == told[1]["created"]
    assert told[1]["until"] is None
    assert {"leak", "manual"} < {entry["key"] for entry in told}
    assert "car" not in {entry["key"] for entry in told}
    main(["memory", "timeline", "boiler"])
    first = capsys.readouterr().out.splitlines()[0]
    assert first.split()[:3] == ["2025-10-09", "until", "2025-10-16"]


def test_a_timeline_of_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "timeline", "volcano"]) == exits.OK
    assert capsys.readouterr().out == "owner has said nothing about volcano\n"


def test_a_fact_is_shown_with_what_was_so_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "show", "boiler-2"]) == exits.OK
    said = capsys.readouterr().out
    assert "before:\n2025-10-09  until 2025-10-16  owner  boiler-1" in said
    main(["memory", "show", "boiler-1", "--json"])
    closed = json.loads(capsys.readouterr().out)
    assert (closed["content"], closed["until"][:10]) == (
        "the boiler is in the cellar",
        "2025-10-16",
    )


def test_a_drawn_fact_is_shown_with_the_words_that_it_is_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["memory", "show", "leak", "--json"])
    assert json.loads(capsys.readouterr().out)["in_words"] == [
        "you know, the boiler leaks at night and I hate it"
    ]


def test_a_look_at_what_would_be_forgotten_forgets_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = keys(capsys)
    assert main(["memory", "forget", "leak", "--dry-run"]) == exits.OK
    said = capsys.readouterr().out
    assert "I hate it" in said
    assert said.endswith("2 memories would be forgotten; none is\n")
    assert keys(capsys) == before


def test_a_thing_is_forgotten_with_what_is_no_longer_so_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["memory", "forget", "--about", "boiler", "--yes"]) == exits.OK
    assert capsys.readouterr().out == "forgot 5 memories\n"
    assert keys(capsys) == {"car"}
    main(["memory", "timeline", "boiler"])
    assert "nothing about" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["--topic", "where is the boiler"], {"car"}),
        (["--until", "2025-10-09"], {"boiler-2", "leak", "manual"}),
        (["--since", "2025-10-10", "--until", "2025-10-20"], {"boiler-1", "car", "leak", "manual"}),
        (["--about", "boiler", "--source", PAGE], {"boiler-2", "car", "leak"}),
        (["--everything"], set()),
    ],
)
def test_memories_are_forgotten_by_topic_time_and_source(
    words: list[str], left: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", "forget", *words, "--yes"]) == exits.OK
    assert {key for key in keys(capsys) if not key.startswith("you-know")} == left
    assert keys(capsys, "guest") == {"tea"}


def test_what_is_unclear_is_not_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    before = keys(capsys)
    assert main(["memory", "forget", "leak", "--everything", "--yes"]) == exits.FAILED
    assert "either their keys, or --about" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["memory", "forget", "--since", "soon", "--yes"])
    assert "soon is no day such as" in capsys.readouterr().err
    assert keys(capsys) == before


def test_memories_are_pinned_and_unpinned_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    for action, is_pinned in (("pin", True), ("unpin", False)):
        assert main(["memory", action, "car"]) == exits.OK
        capsys.readouterr()
        main(["memory", "show", "car", "--json"])
        assert json.loads(capsys.readouterr().out)["pinned"] is is_pinned
    assert main(["memory", "pin", "nothing"]) == exits.FAILED
    assert "has no memory with the key nothing" in capsys.readouterr().err


def test_what_is_no_longer_so_is_forgotten_by_the_key_that_the_timeline_tells(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["memory", "forget", "boiler-1", "--yes"]) == exits.OK
    assert capsys.readouterr().out == "boiler-1 forgotten\n"
    assert main(["memory", "show", "boiler-1"]) == exits.FAILED
    assert "boiler-2" in keys(capsys)


def test_what_is_no_longer_so_is_not_said_to_be_in_every_prompt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["memory", "pin", "boiler-1"]) == exits.FAILED
    said = capsys.readouterr()
    assert said.out == ""
    assert "boiler-1 is hidden by a newer memory" in said.err


def test_a_message_that_goes_with_its_fact_is_not_said_to_stay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (message,) = (key for key in keys(capsys) if key.startswith("you-know"))
    assert main(["memory", "forget", "leak", message, "--yes"]) == exits.OK
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out == f"leak forgotten\n{message} went with it\n"
    assert message not in keys(capsys)


@pytest.mark.usefixtures("honolulu")
def test_a_day_is_the_day_of_whoever_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["memory", "timeline", "boiler"])
    assert capsys.readouterr().out.split()[:3] == ["2025-10-08", "until", "2025-10-15"]
    assert main(["memory", "forget", "--until", "2025-10-08", "--yes"]) == exits.OK
    assert keys(capsys) >= {"boiler-2", "leak", "manual"}
    assert main(["memory", "timeline", "cellar"]) == exits.OK
    assert "nothing about cellar" in capsys.readouterr().out


def test_a_person_is_named_as_people_shows_them(
    state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = PeopleStore(state.parent.parent / "people.json", SteppedClock())
    account = PersonAccount(channel="telegram", sender="9", target="9")
    ben = people.let_in(PersonRole.USER, account, "Ben")
    file = tmp_path / "MEMORY.md"
    file.write_text("- likes coffee")
    assert main(["memory", "import", str(file), "--person", "ben"]) == exits.OK
    assert [key[:5] for key in keys(capsys, ben.person_id)] == ["likes"]
    assert main(["memory", "forget", "--person", "Ben", "--everything", "--yes"]) == exits.OK
    assert capsys.readouterr().out == "forgot 1 memories\n"
    assert main(["memory", "list", "--person", "Ben"]) == exits.OK
    assert capsys.readouterr().out == "no matching memories of Ben\n"


@pytest.mark.parametrize("action", [["list"], ["search", "tea"], ["forget", "--everything"]])
def test_a_name_that_is_nobodys_is_said_with_those_there_are(
    action: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["memory", *action, "--person", "Bne"]) == exits.USAGE
    assert "nobody with access is called 'Bne'; known: nobody yet" in capsys.readouterr().err
