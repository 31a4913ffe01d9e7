import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from agent.messages import Attachment, Provenance, Whose
from agent.messaging.inbox import Accepted
from agent.messaging.queue import MAX_TURNS, MIN_TURNS, Ending, MessageQueues, QueuedMessage, merged
from tests.fakes.channel import message


class _Slow:
    """Attends to messages until it is let go on."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.works: list[QueuedMessage] = []
        self.go_on = asyncio.Event()

    async def __call__(self, work: QueuedMessage, _tasks: asyncio.TaskGroup) -> None:
        self.begun.append(work.accepted.message.text)
        self.works.append(work)
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            work.is_rest = work.ending is Ending.INTERRUPTED


def accepted(number: int, sender: str = "owner") -> Accepted:
    return Accepted(number, message(f"{number}", f"{number}", sender))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def run(
    attend: _Slow, numbers: Sequence[int], *, interrupts: bool = False
) -> tuple[list[str], list[QueuedMessage]]:
    queues = MessageQueues(1, attend, interrupts=interrupts)
    async with asyncio.TaskGroup() as tasks:
        for number in numbers:
            queues.add(accepted(number), tasks)
            await settle()
        attend.go_on.set()
    return attend.begun, attend.works


async def test_messages_of_one_conversation_wait_for_each_other() -> None:
    attend = _Slow()
    queues = MessageQueues(1, attend)
    async with asyncio.TaskGroup() as tasks:
        for number in range(3):
            queues.add(accepted(number), tasks)
        queues.add(accepted(3, "somebody else"), tasks)
        await settle()
        assert attend.begun == ["0", "3"]
        attend.go_on.set()
    assert attend.begun == ["0", "3", "1", "2"]


async def test_no_more_turns_run_than_the_machine_bears() -> None:
    for channels, most in ((1, MIN_TURNS), (3, 12), (100, MAX_TURNS)):
        attend = _Slow()
        queues = MessageQueues(channels, attend)
        async with asyncio.TaskGroup() as tasks:
            for number in range(MAX_TURNS + 5):
                queues.add(accepted(number, f"{number}"), tasks)
            await settle()
            assert len(attend.begun) == most
            assert not queues.is_free_for("new")
            attend.go_on.set()


async def test_stopping_one_turn_leaves_what_waits_behind_it() -> None:
    attend = _Slow()
    queues = MessageQueues(1, attend)
    async with asyncio.TaskGroup() as tasks:
        for number in range(2):
            queues.add(accepted(number), tasks)
        await settle()
        assert queues.stop(accepted(0).message.conversation)
        assert not queues.stop("nobody")
        await settle()
        assert attend.begun == ["0", "1"]
        assert attend.works[0].ending is Ending.STOPPED
        attend.go_on.set()


async def test_a_message_that_waits_for_a_turn_can_be_stopped() -> None:
    """All turns hang at a model that does not answer; what is stopped meanwhile is never begun."""
    attend = _Slow()
    queues = MessageQueues(1, attend)
    async with asyncio.TaskGroup() as tasks:
        for number in range(MIN_TURNS):
            queues.add(accepted(number, f"{number}"), tasks)
        waiting = accepted(100)
        queues.add(waiting, tasks)
        queues.add(accepted(101), tasks)
        await settle()
        assert queues.stop(waiting.message.conversation)
        queues.stop(accepted(0, "0").message.conversation)
        await settle()
        await settle()
        attend.go_on.set()
    endings = {work.accepted.inbox_id: work.ending for work in attend.works}
    assert (endings[100], endings[101]) == (Ending.STOPPED, None)


async def test_a_new_message_leaves_the_turn_alone_unless_it_was_wished_for() -> None:
    begun, works = await run(_Slow(), range(3))
    assert begun == ["0", "1", "2"]
    assert [work.ending for work in works] == [None] * 3


async def test_interrupting_merges_what_was_said_into_the_next_turn() -> None:
    begun, works = await run(_Slow(), range(3), interrupts=True)
    assert begun == ["0", "0\n\n1", "0\n\n1\n\n2"]
    assert works[-1].accepted.also == (0, 1)
    assert works[-1].accepted.inbox_id == 2


async def test_a_turn_that_is_interrupted_before_its_first_step_is_not_lost() -> None:
    attend = _Slow()
    queues = MessageQueues(1, attend, interrupts=True)
    async with asyncio.TaskGroup() as tasks:
        queues.add(accepted(0), tasks)
        await asyncio.sleep(0)
        queues.add(accepted(1), tasks)
        await settle()
        attend.go_on.set()
    said = "\n".join(work.accepted.message.text for work in attend.works if not work.is_rest)
    assert said.split() == ["0", "1"]


class _SlowToEnd(_Slow):
    """Has something to write down when it is broken off."""

    async def __call__(self, work: QueuedMessage, tasks: asyncio.TaskGroup) -> None:
        await super().__call__(work, tasks)
        await asyncio.sleep(0)
        self.ended.append(work)

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[QueuedMessage] = []


async def test_what_is_broken_off_twice_comes_to_its_end_and_a_stop_stays_one() -> None:
    attend = _SlowToEnd()
    queues = MessageQueues(1, attend, interrupts=True)
    async with asyncio.TaskGroup() as tasks:
        queues.add(accepted(0), tasks)
        await settle()
        assert queues.stop(accepted(0).message.conversation)
        await asyncio.sleep(0)
        assert queues.stop(accepted(0).message.conversation)
        queues.add(accepted(1), tasks)
        await settle()
        attend.go_on.set()
    assert [work.ending for work in attend.ended] == [Ending.STOPPED, None]


async def test_what_has_begun_to_act_is_not_interrupted() -> None:
    attend = _Slow()
    queues = MessageQueues(1, attend, interrupts=True)
    async with asyncio.TaskGroup() as tasks:
        queues.add(accepted(0), tasks)
        await settle()
        attend.works[0].has_acted = True
        queues.add(accepted(1), tasks)
        await settle()
        assert attend.works[0].ending is None
        attend.go_on.set()
    assert attend.begun == ["0", "1"]


async def test_a_merged_message_has_the_lower_trust_and_all_that_came_with_both() -> None:
    file = Attachment("/a", "text/plain")
    early, late = accepted(1), accepted(2)
    early = replace(
        early,
        message=replace(early.message, provenance=Provenance.WEB, quoted="q", attachments=(file,)),
    )
    early = replace(
        early,
        message=replace(early.message, is_forwarded=True, beside="b", notes=("too large",)),
    )
    both = merged(early, late).message
    assert (both.provenance, both.quoted, both.attachments) == (Provenance.WEB, "q", (file,))
    assert (both.is_forwarded, both.beside, both.notes) == (True, "b", ("too large",))
    assert both.message_id == "2"


@pytest.mark.parametrize("spoken", [1, 2])
def test_a_merged_message_was_said_aloud_if_one_of_both_was(spoken: int) -> None:
    """What may hurt is then asked in writing: typing "please" behind it writes no order down."""
    early, late = (
        replace(one, message=replace(one.message, is_spoken=one.inbox_id == spoken))
        for one in (accepted(1), accepted(2))
    )
    assert merged(early, late).message.is_spoken


@pytest.mark.parametrize(
    ("before", "after", "whose"),
    [
        (Whose.SENDERS, Whose.SENDERS, Whose.SENDERS),
        (Whose.SENDERS, Whose.ANYBODYS, Whose.ANYBODYS),
        (Whose.AGENTS, Whose.SENDERS, Whose.ANYBODYS),
    ],
)
def test_of_merged_quotations_only_what_holds_for_all_is_known(
    before: Whose, after: Whose, whose: Whose
) -> None:
    early, late = (
        replace(one, message=replace(one.message, quoted="q", quoted_of=of))
        for one, of in ((accepted(1), before), (accepted(2), after))
    )
    assert merged(early, late).message.quoted_of is whose
    plain = accepted(3)
    assert merged(early, plain).message.quoted_of is before
