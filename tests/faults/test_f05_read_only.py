"""F05: on storage that takes no writes it talks on, looks, says so, and acts on nothing."""

import asyncio
import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.approvals.gate import Gate
from agent.approvals.records import DecisionRecords
from agent.channels.base import Answer, Question
from agent.cli import exits
from agent.cli.main import main
from agent.errors import StorageFull
from agent.health.base import Level, Patient
from agent.health.checks.channels import check_people
from agent.health.checks.config import check_jobs
from agent.health.checks.storage import check_databases
from agent.health.doctor import examine
from agent.health.report import LastError, Reporter, Subjects
from agent.memory.base import Scope
from agent.memory.sqlite import SqliteMemory
from agent.messages import Effect, Provenance, ToolCall
from agent.messaging.conversation import NOT_KEPT_TEXT
from agent.messaging.journal import open_agent_db
from agent.security.approvals import StandingApprovals
from agent.security.audit import Audit
from agent.security.estop import EmergencyStop
from agent.security.policy import Autonomy, Policy, Verdict
from agent.storage.files import write_atomic
from tests.fakes.board import FakeBoard
from tests.fakes.channel import FakeChannel
from tests.fakes.clock import SteppedClock
from tests.fakes.dispatching import running
from tests.fakes.embedders import AbsentEmbedder
from tests.fakes.provider import ScriptedProvider, calls
from tests.fakes.tools import CountingTool

CALL = ToolCall("1", "lamp", '{"value":"on"}')
Turn = Callable[[str], None]


@pytest.fixture
def card(tmp_path: Path) -> Iterator[tuple[Path, Turn]]:
    """A small file system of its own, and how it is turned read-only and back."""
    place = tmp_path / "card"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    try:
        made = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no program to mount with")
    if made.returncode != 0:
        pytest.skip("only root can mount a file system of its own")

    def turn(mode: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{mode}", str(place)], check=True)

    try:
        yield place, turn
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def yes(_question: Question) -> Answer:
    return Answer.YES


async def verdicts(folder: Path) -> list[Verdict]:
    """Of an actuation and of a look, by a gate that has everything in that folder."""
    clock = SteppedClock()
    journal = open_agent_db(folder / "agent.db")
    records = DecisionRecords(Audit(folder / "audit", str, clock), journal, clock)
    approvals = StandingApprovals(folder / "standing.json", clock)
    gate = Gate(Policy(Autonomy.FULL), approvals, EmergencyStop(folder), records=records)
    try:
        return [
            (await gate.admit(CALL, effect, Provenance.OWNER, yes)).verdict
            for effect in (Effect.ACTUATE, Effect.READ)
        ]
    finally:
        records.close()
        await journal.aclose()


async def test_on_a_read_only_card_looks_pass_and_effects_do_not(card: tuple[Path, Turn]) -> None:
    place, turn = card
    assert await verdicts(place) == [Verdict.ALLOW, Verdict.ALLOW]
    turn("ro")
    assert await verdicts(place) == [Verdict.DENY, Verdict.ALLOW]
    turn("rw")
    assert await verdicts(place) == [Verdict.ALLOW, Verdict.ALLOW]


def test_since_when_it_is_read_only_is_said_until_it_is_not(card: tuple[Path, Turn]) -> None:
    place, turn = card
    clock = SteppedClock()
    stop = EmergencyStop(place)
    subjects = Subjects("fake", [FakeBoard()], ["fake"], LastError(), stop)
    reporter = Reporter(place / "status.json", subjects, clock)
    assert not reporter.status().storage
    turn("ro")
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(clock.wall_s()))
    assert f"Storage is read-only since {since}" in reporter.sentences()
    clock.advance(3600)
    # When it began, not when it is asked
    assert f"storage is read-only since {since}" in reporter.status().storage
    turn("rw")
    assert not reporter.status().storage


def test_a_state_file_on_a_read_only_card_stays_what_it_was(card: tuple[Path, Turn]) -> None:
    place, turn = card
    write_atomic(place / "state.json", b"old")
    turn("ro")
    with pytest.raises(StorageFull):
        write_atomic(place / "state.json", b"new")
    assert (place / "state.json").read_bytes() == b"old"


def patient_of(state: Path) -> Patient:
    return Patient(
        state_dir=state,
        databases=(state / "agent.db",),
        model_dir=None,
        status_file=state / "status.json",
        embedder=AbsentEmbedder(),
        find_service=lambda: None,
        make_boards=list,
    )


@pytest.mark.parametrize("is_cut", [False, True])
async def test_a_whole_database_on_a_read_only_card_is_called_intact(
    card: tuple[Path, Turn], *, is_cut: bool
) -> None:
    place, turn = card
    journal = open_agent_db(place / "first" / "agent.db")
    await journal.transact(lambda db: db.execute("CREATE TABLE kept (x)"))
    if is_cut:
        # Its log is beside it, as under an agent at work and after a power cut
        shutil.copytree(place / "first", place / "state")
    await journal.aclose()
    if not is_cut:
        (place / "first").rename(place / "state")
    turn("ro")
    found = await check_databases(patient_of(place / "state"))
    assert (found.level, found.sentence) == (Level.OK, "1 databases intact")


@pytest.mark.parametrize("is_cut", [False, True])
async def test_memories_on_a_read_only_card_are_shown(
    card: tuple[Path, Turn],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_cut: bool,
) -> None:
    place, turn = card
    memory = SqliteMemory(place / "first" / "memory" / "brain.db", AbsentEmbedder(), SteppedClock())
    await memory.store("boiler", "the boiler is in the cellar", scope=Scope("owner"))
    if is_cut:
        shutil.copytree(place / "first", place / "state")
    await memory.aclose()
    if not is_cut:
        (place / "first").rename(place / "state")
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(place / "state"))
    turn("ro")
    for words in (["list"], ["search", "boiler"], ["timeline", "boiler"], ["stats"]):
        assert await asyncio.to_thread(main, ["memory", *words]) == exits.OK
    assert "the boiler is in the cellar" in capsys.readouterr().out
    assert await asyncio.to_thread(main, ["memory", "pin", "boiler"]) == exits.FAILED
    assert "Read-only file system" in capsys.readouterr().err


async def test_a_database_that_was_opened_read_only_is_written_once_the_card_takes_it(
    card: tuple[Path, Turn],
) -> None:
    place, turn = card
    journal = open_agent_db(place / "agent.db")
    await journal.transact(lambda db: db.execute("CREATE TABLE kept (x)"))
    await journal.aclose()
    turn("ro")
    journal = open_agent_db(place / "agent.db")
    assert not await journal.look(lambda db: db.execute("SELECT x FROM kept").fetchall())
    with pytest.raises(StorageFull, match="Read-only"):
        await journal.transact(lambda db: db.execute("INSERT INTO kept VALUES (1)"))
    turn("rw")
    await journal.transact(lambda db: db.execute("INSERT INTO kept VALUES (2)"))
    assert await journal.look(lambda db: db.execute("SELECT x FROM kept").fetchall()) == [(2,)]
    await journal.aclose()


async def test_a_damaged_file_on_a_read_only_card_hides_nothing_else(
    card: tuple[Path, Turn], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place, turn = card
    (place / "jobs.json").write_text("{")
    turn("ro")
    monkeypatch.setenv("BARNACLE_STATE_DIR", str(place))
    assert await asyncio.to_thread(main, ["status"]) == exits.OK
    said = capsys.readouterr().out
    assert "not running" in said
    assert "jobs.json: Read-only file system" in said
    [found] = (await examine(patient_of(place), {"jobs": check_jobs})).values()
    assert found.level is Level.FAILED
    assert "jobs.json: Read-only file system" in found.sentence
    assert "check itself" not in found.sentence


async def test_a_damaged_list_of_people_on_a_read_only_card_is_not_an_empty_one(
    card: tuple[Path, Turn],
) -> None:
    place, turn = card
    (place / "people.json").write_text("{")
    turn("ro")
    found = await check_people(patient_of(place))
    assert found.level is Level.FAILED
    assert "people.json" in found.sentence
    assert "Read-only file system" in found.sentence


async def test_read_only_in_the_middle_it_answers_from_memory_and_recovers(tmp_path: Path) -> None:
    channel, tool = FakeChannel(), CountingTool()
    provider = ScriptedProvider("one", calls(("lamp", '{"value":"on"}')), "no", "two")
    async with running(tmp_path, provider, channel, tools=[tool]) as agent:
        await agent.say("hello", "1")
        await channel.wait_for(1)
        # What can wait is written
        await agent.journal.transact(lambda _db: None)
        # As the kernel has it when a card fails: the database can be read, and not written
        await agent.journal.transact(lambda db: db.execute("PRAGMA query_only=ON"))
        await agent.say("lamp on", "2")
        said = await channel.wait_for(2)
        assert said[-1] == f"no\n\n{NOT_KEPT_TEXT}"
        assert tool.uses == []
        assert "could not be recorded" in provider.requests[-1].messages[-1].text
        await agent.journal.look(lambda db: db.execute("PRAGMA query_only=OFF"))
        await agent.say("hello again", "3")
        assert (await channel.wait_for(3))[-1] == "two"


@pytest.mark.parametrize("operation", ["open", "write", "fdatasync"])
async def test_refused_at_any_operation_of_the_log_nothing_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    def refuse(*_arguments: object, **_named: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(f"agent.security.audit.os.{operation}", refuse)
    assert await verdicts(tmp_path) == [Verdict.DENY, Verdict.ALLOW]
