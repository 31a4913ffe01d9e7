"""What a job does: a text to where it was made, or a turn in a conversation of its own.

A turn has the trust of whoever made the job, never more; what became of its answer is looked up in
the journal, so that a delivery that fails is a job that failed.
"""

import sqlite3
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.clock import Clock
from agent.dispatch.conversation import JOB_STRAND
from agent.dispatch.delivery import Delivery
from agent.dispatch.journal import InboxState, OutboxState
from agent.messages import Inbound, Outbound, Provenance
from agent.schedule.job import Job
from agent.schedule.schedule import JobFailed
from agent.storage.worker import DatabaseWorker

# A turn takes seconds to minutes; looking costs a query
_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Performer:
    """Performs jobs; see `agent.schedule.schedule.Perform`.

    Args:
        deliver: takes a message as if it had come from the channel.
    """

    journal: DatabaseWorker
    delivery: Delivery
    deliver: Callable[[Inbound], Awaitable[None]]
    clock: Clock

    async def __call__(self, job: Job) -> str:
        return await (self._say(job) if job.message else self._begin(job))

    async def _say(self, job: Job) -> str:
        kept = await self.delivery.announce(job.channel, job.target, job.message, job.thread)
        if kept is None:
            raise JobFailed("there was no room to keep it")
        if not self.delivery.reaches(kept):
            return f"kept until {job.channel} is there"
        if not await self.delivery.send(kept):
            raise JobFailed(f"{job.channel} did not take it")
        return "delivered"

    async def _begin(self, job: Job) -> str:
        if not self.delivery.reaches(Outbound(0, job.channel, job.target, "", "")):
            raise JobFailed(f"{job.channel} is not there")
        inbound = Inbound(
            message_id=uuid.uuid4().hex,
            channel=job.channel,
            sender=job.sender or job.person,
            person=job.person,
            reply_target=job.target,
            text=job.prompt,
            received_at_s=self.clock.wall_s(),
            provenance=Provenance(job.trust),
            thread=job.thread,
            strand=f"{JOB_STRAND}{job.name}",
        )
        await self.deliver(inbound)
        while (came := await self.journal.look(lambda db: _outcome(db, inbound))) is None:
            await self.clock.sleep(_LOOK_S)
        answered, sent = came
        if answered is InboxState.FAILED:
            raise JobFailed("its turn came to nothing; the answer says why")
        if answered is not InboxState.ANSWERED:
            raise JobFailed(f"its turn was {answered.value}")
        if sent is None:
            return "nothing to say"
        if sent is not OutboxState.SENT:
            raise JobFailed(f"{job.channel} did not take the answer")
        return "answered"


def _outcome(
    connection: sqlite3.Connection, inbound: Inbound
) -> tuple[InboxState, OutboxState | None] | None:
    """None while it is at work."""
    row = connection.execute(
        "SELECT inbox.state, outbox.state FROM inbox LEFT JOIN outbox ON outbox.inbox_id = inbox.id"
        " WHERE inbox.channel = ? AND inbox.message_id = ?",
        (inbound.channel, inbound.message_id),
    ).fetchone()
    if row is None:
        raise JobFailed("its turn was not taken")
    answered, sent = InboxState(row[0]), OutboxState(row[1]) if row[1] else None
    is_open = answered in {InboxState.ACCEPTED, InboxState.RUNNING} or sent is OutboxState.PENDING
    return None if is_open else (answered, sent)
