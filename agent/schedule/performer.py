"""Performer of jobs: sends a text, or runs a turn in a conversation of its own.

A turn has the trust of whoever made the job, never more; what became of its answer is looked up in
the journal, so that a delivery that fails is a job that failed.
"""

import asyncio
import sqlite3
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct

from agent.messages import Inbound, Outbound, Provenance
from agent.messaging.conversation import JOB_STRAND
from agent.messaging.delivery import Delivery
from agent.messaging.journal import InboxState, OutboxState
from agent.schedule.heartbeat import prompt
from agent.schedule.job import HEARTBEAT, Job
from agent.schedule.schedule import JobFailed
from agent.storage.worker import DatabaseWorker
from agent.system.clock import Clock

# A turn takes seconds to minutes; looking costs a query
_LOOK_S = 1.0
# All tries of a platform that refuses take less. One that is away may stay so for days: what is to
# be sent is kept, and the job has done its part
AWAY_S = 180.0


class Performer(Struct, frozen=True):
    """Performs jobs; implements `agent.schedule.schedule.Perform`.

    Args:
        deliver: takes a message as if it had come from the channel.
        stands: whoever ordered something still has access.
        workspace: where HEARTBEAT.md is.
        tasks: messages are sent in these, however long a run may take.
    """

    journal: DatabaseWorker
    delivery: Delivery
    deliver: Callable[[Inbound], Awaitable[None]]
    stands: Callable[[Inbound], bool]
    clock: Clock
    workspace: Path
    tasks: asyncio.TaskGroup

    async def __call__(self, job: Job) -> str:
        return await (self._say(job) if job.message else self._begin(job))

    async def follow(self, job: Job) -> str:
        """Return what came of a run that the end of the agent cut off; its turn goes on by itself.

        Raises:
            JobFailed: it has failed, or nothing is known of it.
        """
        if job.message:
            raise JobFailed("the agent ended meanwhile; its message may or may not have been sent")
        if not job.run_id or not await self.journal.look(lambda db: _is_known(db, job)):
            raise JobFailed("the agent ended before its turn began")
        return await self._result_of(_inbound(job, job.prompt, job.ran_s))

    async def _say(self, job: Job) -> str:
        if not self.stands(_inbound(job, job.message, self.clock.wall_s())):
            raise JobFailed("whoever ordered it has no access any more")
        kept = await self.delivery.announce(job.channel, job.target, job.message, job.thread)
        if kept is None:
            raise JobFailed("the disk had no room to keep it")
        if not self.delivery.attends(kept):
            return _kept(job.channel)
        sending = self.tasks.create_task(self.delivery.send(kept))
        await asyncio.wait([sending], timeout=AWAY_S)
        if not sending.done():
            return _kept(job.channel)
        if not sending.result():
            raise JobFailed(f"{job.channel} did not accept it")
        return "delivered"

    async def _begin(self, job: Job) -> str:
        is_heartbeat = job.name == HEARTBEAT
        if not self.delivery.reaches(Outbound(0, job.channel, job.target, "", "")):
            if is_heartbeat:
                # Nobody has ordered it for now
                return f"not run: {job.channel} is not connected"
            raise JobFailed(f"{job.channel} is not connected")
        text = await asyncio.to_thread(prompt, self.workspace) if is_heartbeat else job.prompt
        if not text:
            return "nothing to do"
        inbound = _inbound(job, text, self.clock.wall_s())
        await self.deliver(inbound)
        return await self._result_of(inbound)

    async def _result_of(self, inbound: Inbound) -> str:
        answer = Outbound(0, inbound.channel, inbound.reply_target, "", inbound.answers)
        sent_for_s = 0.0
        while True:
            answered, sent = await self.journal.look(lambda db: _looked_up(db, inbound))
            if answered not in {InboxState.ACCEPTED, InboxState.RUNNING}:
                is_coming = sent is OutboxState.PENDING and self.delivery.attends(answer)
                if not is_coming or sent_for_s >= AWAY_S:
                    return _came_of(inbound.channel, answered, sent)
                sent_for_s += _LOOK_S
            await self.clock.sleep(_LOOK_S)


def _kept(channel: str) -> str:
    return f"kept until {channel} is connected"


def _inbound(job: Job, text: str, now_s: float) -> Inbound:
    return Inbound(
        message_id=job.run_id or uuid.uuid4().hex,
        channel=job.channel,
        sender=job.sender or job.person,
        person=job.person,
        reply_target=job.target,
        text=text,
        received_at_s=now_s,
        provenance=Provenance(job.trust),
        thread=job.thread,
        is_group=job.is_group,
        strand=f"{JOB_STRAND}{job.name}",
    )


def _came_of(channel: str, answered: InboxState, sent: OutboxState | None) -> str:
    if answered is InboxState.FAILED:
        is_told = sent is OutboxState.SENT
        raise JobFailed("its turn failed; the answer says why", is_told=is_told)
    if answered is not InboxState.ANSWERED:
        raise JobFailed(f"its turn was {answered.value}")
    if sent is None:
        return "nothing to say"
    if sent is OutboxState.PENDING:
        return _kept(channel)
    if sent is not OutboxState.SENT:
        raise JobFailed(f"{channel} did not accept the answer")
    return "answered"


def _is_known(connection: sqlite3.Connection, job: Job) -> bool:
    row = connection.execute(
        "SELECT 1 FROM inbox WHERE channel = ? AND message_id = ?", (job.channel, job.run_id)
    ).fetchone()
    return row is not None


def _looked_up(
    connection: sqlite3.Connection, inbound: Inbound
) -> tuple[InboxState, OutboxState | None]:
    row = connection.execute(
        "SELECT inbox.state, outbox.state FROM inbox LEFT JOIN outbox ON outbox.inbox_id = inbox.id"
        " WHERE inbox.channel = ? AND inbox.message_id = ?",
        (inbound.channel, inbound.message_id),
    ).fetchone()
    if row is None:
        raise JobFailed("its turn was not accepted")
    return InboxState(row[0]), OutboxState(row[1]) if row[1] else None
