import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as changed

from agent.backup import unconfirmed
from agent.backup.aftermath import RestoreNote, read_note, write_note
from agent.backup.recovery import OwnerReach, Recovery, open_recovery
from agent.channels.base import Answer, Question
from agent.messages import Address, Outbound
from agent.messaging import inbox, outbox
from agent.messaging.journal import open_agent_db
from agent.schedule.job import State
from agent.schedule.job_store import JobStore
from agent.storage.worker import DatabaseWorker
from tests.fakes.backed_up import BackedUpDevice
from tests.fakes.channel import message
from tests.fakes.clock import SteppedClock
from tests.waits import wait_until

MADE_S, RESTORED_S = 1_800_000_000.0 - 86400, 1_800_000_000.0 - 60
NOTE = RestoreNote(
    made_at_s=MADE_S,
    device="greenhouse",
    version="0.2.0",
    epoch=1,
    restored_at_s=RESTORED_S,
    closed=("timer of 5 min (tea): stopped",),
)
OWNER = Address("telegram", "7", "7")


@dataclass
class Owner:
    """An owner who answers questions as a test says."""

    answer: Answer = Answer.NONE
    told: list[Outbound] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)

    @property
    def reach(self) -> OwnerReach:
        return OwnerReach(lambda: OWNER, self.told.append, self._confirm)

    async def _confirm(self, question: Question) -> Answer:
        self.asked.append(question)
        return self.answer


@pytest.fixture
def device(tmp_path: Path) -> BackedUpDevice:
    found = BackedUpDevice(tmp_path)
    write_note(found.state, NOTE)
    return found


@pytest.fixture
async def journal(device: BackedUpDevice) -> AsyncIterator[DatabaseWorker]:
    worker = open_agent_db(device.state / "agent.db")
    yield worker
    await worker.aclose()


@asynccontextmanager
async def at_work(
    device: BackedUpDevice, journal: DatabaseWorker, owner: Owner, synchronized: Path | None = None
) -> AsyncIterator[Recovery]:
    """A recovery at work, as one start of the agent has it."""
    note = read_note(device.state)
    assert note is not None
    known = {} if synchronized is None else {"synchronized": synchronized}
    recovery = Recovery(device.state, note, journal, SteppedClock(), **known)
    running = asyncio.create_task(recovery.run(owner.reach))
    try:
        yield recovery
    finally:
        running.cancel()
        await asyncio.wait([running])


async def states(journal: DatabaseWorker) -> list[str]:
    return await journal.look(lambda db: [row[0] for row in db.execute("SELECT state FROM inbox")])


async def test_the_owner_is_told_once_over_many_starts(
    device: BackedUpDevice, journal: DatabaseWorker
) -> None:
    owner = Owner()
    for _ in range(2):
        async with at_work(device, journal, owner):
            await wait_until(lambda: (note := read_note(device.state)) and note.is_told)
    (told,) = owner.told
    assert told.text.startswith("I was restored from the backup of greenhouse of 2027-01-")
    assert "- timer of 5 min (tea): stopped" in told.text


async def test_a_cut_after_telling_tells_nobody_twice(
    device: BackedUpDevice, journal: DatabaseWorker
) -> None:
    owner = Owner()
    async with at_work(device, journal, owner):
        await wait_until(lambda: owner.told)
    write_note(device.state, NOTE)
    async with at_work(device, journal, owner):
        await wait_until(lambda: (note := read_note(device.state)) and note.is_told)
    assert len(owner.told) == 1
    assert len(await journal.look(outbox.undelivered)) == 1


async def test_what_was_written_before_the_restore_is_listed_and_not_acted_on(
    device: BackedUpDevice, journal: DatabaseWorker
) -> None:
    write_note(device.state, changed(NOTE, is_told=True))
    owner, recovery = Owner(), open_recovery(device.state, journal, SteppedClock())
    assert recovery is not None
    for number in range(3):
        old = replace(message(f"pump {number}", f"{number}"), sent_at_s=RESTORED_S - 5)
        assert recovery.precedes(old)
        await recovery.take(old)
        await recovery.take(old)
    async with at_work(device, journal, owner):
        await wait_until(lambda: owner.told)
    (told,) = owner.told
    assert "These 3 messages were written before my restore" in told.text
    assert "pump 2" in told.text
    assert await states(journal) == ["restored"] * 3
    assert await journal.transact(inbox.unanswered) == []


async def test_what_was_not_listed_before_a_cut_is_listed_after_it(
    device: BackedUpDevice, journal: DatabaseWorker
) -> None:
    note = read_note(device.state)
    assert note is not None
    old = replace(message("pump on"), sent_at_s=RESTORED_S - 5)
    await Recovery(device.state, note, journal, SteppedClock()).take(old)
    owner = Owner()
    async with at_work(device, journal, owner):
        await wait_until(lambda: any("pump on" in one.text for one in owner.told))


async def test_what_was_written_since_is_a_message_as_any_other(
    device: BackedUpDevice, journal: DatabaseWorker
) -> None:
    recovery = open_recovery(device.state, journal, SteppedClock())
    assert recovery is not None
    assert not recovery.precedes(replace(message("hi"), sent_at_s=RESTORED_S + 1))
    assert not recovery.precedes(message("typed here"))
    strand = replace(message("watch"), sent_at_s=1.0, strand="watch-tank")
    assert not recovery.precedes(strand)


@pytest.mark.parametrize(
    ("answer", "left", "given"), [(Answer.YES, 0, 1), (Answer.NO, 0, 0), (Answer.NONE, 1, 0)]
)
async def test_one_tap_gives_the_approvals_again(
    device: BackedUpDevice, journal: DatabaseWorker, answer: Answer, left: int, given: int
) -> None:
    device.approve("lamp")
    unconfirmed.set_aside(device.state)
    owner = Owner(answer)
    async with at_work(device, journal, owner):
        await wait_until(lambda: owner.asked)
        await wait_until(lambda: len([*unconfirmed.sentences(device.state)]) == left)
    assert "write lamp" in owner.asked[0].words
    assert (device.state / "approvals.json").exists() is bool(given)


async def test_jobs_wait_for_a_clock_that_the_network_has_set(
    device: BackedUpDevice, journal: DatabaseWorker, tmp_path: Path
) -> None:
    device.fill(MADE_S)
    write_note(device.state, changed(NOTE, restored_at_s=0.0))
    synchronized, owner = tmp_path / "synchronized", Owner()
    synchronized.touch()
    async with at_work(device, journal, owner, synchronized) as recovery:
        assert recovery.precedes(replace(message("hi"), sent_at_s=RESTORED_S + 1e6))
        await wait_until(lambda: owner.told)
        assert not recovery.precedes(replace(message("hi"), sent_at_s=RESTORED_S + 1e6))
    assert JobStore(device.state / "jobs.json").find("soon").state is State.DONE
    assert "job soon" in owner.told[0].text


async def test_a_clock_that_nobody_sets_is_believed_after_a_while(
    device: BackedUpDevice, journal: DatabaseWorker, tmp_path: Path
) -> None:
    write_note(device.state, changed(NOTE, restored_at_s=0.0))
    owner = Owner()
    async with at_work(device, journal, owner, tmp_path / "never"):
        await wait_until(lambda: owner.told)
    note = read_note(device.state)
    assert note is not None
    assert note.restored_at_s >= MADE_S
