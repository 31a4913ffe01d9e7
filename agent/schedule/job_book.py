"""Orders for jobs: checked, kept, and bound to the person who gives them.

A job is delivered where it was made, and trusts no more than the turn that made it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.errors import BadArguments
from agent.passage import Fact, Passage, Provenance, configured, outside
from agent.schedule.cron import check, slots
from agent.schedule.due import coming_s
from agent.schedule.job import END_S, HEARTBEAT, MAX_RUNS_A_DAY, Job, State
from agent.schedule.job_list import told
from agent.schedule.job_store import JobStore
from agent.schedule.trust import is_trusted
from agent.schedule.zone import local_zone
from agent.system.clock import Clock
from agent.tools.base import Forecast, ToolContext
from agent.tools.cron import CronAddArguments

if TYPE_CHECKING:
    from agent.tools.order_rehearsal import OrderRehearsal

_DAY_S = 24 * 3600.0
# Whose device it is: everybody's jobs are theirs to see and to end
OWNER = "owner"


class JobBook:
    """Implements `agent.tools.cron.Jobs`.

    Args:
        rehearsal: gives what tries orders on the readings; None where nothing is recorded.
    """

    def __init__(
        self,
        store: JobStore,
        clock: Clock,
        zone: Callable[[], tzinfo] = local_zone,
        changed: Callable[[], None] = lambda: None,
        rehearsal: "Callable[[], OrderRehearsal | None]" = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._zone = zone
        self._changed = changed
        self._rehearsal = rehearsal

    async def add(
        self, wanted: CronAddArguments, context: ToolContext, language: str = ""
    ) -> Passage:
        place = context.place
        if place is None:
            raise BadArguments("make a job in a conversation; a job cannot make jobs")
        if wanted.name == HEARTBEAT:
            raise BadArguments(f"{HEARTBEAT} is the job of HEARTBEAT.md: edit that file instead")
        job = Job(
            name=wanted.name,
            channel=place.channel,
            target=place.target,
            thread=place.thread,
            sender=place.person,
            is_group=context.is_group,
            person=context.person,
            trust=int(context.provenance),
            cron=wanted.cron,
            at_s=self._moment(wanted.at) if wanted.at else 0.0,
            every_s=wanted.every_minutes * 60.0,
            prompt=wanted.prompt.strip(),
            message=wanted.message.strip(),
            created_s=self._clock.wall_s(),
            seen_s=self._now_on_s() if wanted.cron else 0.0,
            language=language,
        )
        first_s = self._first(job)
        await asyncio.to_thread(self._store.add, job)
        self._changed()
        return configured(self._shown(first_s))

    async def foresee(self, wanted: CronAddArguments, language: str = "en") -> Forecast | None:
        """See `agent.tools.cron.Jobs`."""
        rehearsal = self._rehearsal()
        if rehearsal is None or not wanted.prompt.strip():
            return None
        from agent.schedule.job_rehearsal import foreseen  # noqa: PLC0415 - for those who add one

        job = Job(
            name=wanted.name,
            channel="",
            target="",
            person="",
            cron=wanted.cron,
            at_s=self._moment(wanted.at) if wanted.at else 0.0,
            every_s=wanted.every_minutes * 60.0,
            prompt=wanted.prompt.strip(),
            language=language,
        )
        self._first(job)
        return await foreseen(job, rehearsal, self._clock.wall_s(), self._zone())

    async def listed(self, person: str) -> Sequence[Mapping[str, Fact]]:
        return [
            {**self._described(job), **({} if job.person == person else {"of": _owner_of(job)})}
            for job in await self.of(person)
        ]

    async def of(self, person: str) -> list[Job]:
        every = await asyncio.to_thread(self._store.every)
        return [job for job in every if _is_of(person, job)]

    async def names(self) -> frozenset[str]:
        """Return the names of everybody's jobs: a name exists once."""
        return frozenset(job.name for job in await asyncio.to_thread(self._store.every))

    async def told_to(self, person: str) -> str:
        """Return a person's jobs in words."""
        return told(await self.of(person), self._clock.wall_s(), self._zone())

    async def remove(self, name: str, person: str) -> None:
        if name == HEARTBEAT:
            raise BadArguments(f"{HEARTBEAT} ends when HEARTBEAT.md is empty; it can be paused")
        await self._refuse_others(name, person)
        await asyncio.to_thread(self._store.remove, name)

    async def run(self, name: str, person: str) -> None:
        await self._change(name, person, lambda job: replace(job, run_now=True))

    async def pause(self, name: str, person: str, *, is_paused: bool) -> None:
        def change(job: Job) -> Job:
            if job.state is State.DONE:
                raise BadArguments(f"the time of {name} has passed")
            if is_paused:
                return replace(job, state=State.PAUSED)
            # What passed while it was paused was not wanted
            seen_s = self._now_on_s() if job.cron else job.seen_s
            return replace(job, state=State.WAITING, failures=0, seen_s=seen_s)

        await self._change(name, person, change)

    async def _change(self, name: str, person: str, change: Callable[[Job], Job]) -> None:
        await self._refuse_others(name, person)
        await asyncio.to_thread(self._store.change, name, change)
        self._changed()

    async def _refuse_others(self, name: str, person: str) -> None:
        """Raise BadArguments for a job of others; only the owner learns that it exists."""
        names = [job.name for job in await self.of(person)]
        if name not in names:
            known = f"there are {', '.join(names)}" if names else "there are none"
            raise BadArguments(f"there is no job {name!r}: {known}")

    def _now_on_s(self) -> float:
        """Return the moment from which times count; one to come until the clock is set."""
        now_s = self._clock.wall_s()
        return now_s if is_trusted(now_s) else END_S

    def _first(self, job: Job) -> float:
        """Return the first time; raise BadArguments if it never comes, or comes too often."""
        now_s = self._clock.wall_s()
        if job.at_s:
            if job.at_s <= now_s:
                raise BadArguments(
                    f"{self._shown(job.at_s)} has passed; it is {self._shown(now_s)} now"
                )
            return job.at_s
        if job.every_s:
            a_day = int(_DAY_S / job.every_s)
            first_s = now_s + job.every_s
        else:
            check(job.cron)
            coming = list(islice(slots(job.cron, now_s, self._zone()), MAX_RUNS_A_DAY + 1))
            a_day = sum(slot_s <= now_s + _DAY_S for slot_s in coming)
            first_s = coming[0]
        if a_day > MAX_RUNS_A_DAY:
            raise BadArguments(
                f"a job may run at most {MAX_RUNS_A_DAY} times a day, every 15 minutes"
            )
        return first_s

    def _moment(self, text: str) -> float:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as err:
            raise BadArguments(f"{text!r} is not a time: write 2026-11-22T08:00") from err
        return (moment if moment.tzinfo else moment.replace(tzinfo=self._zone())).timestamp()

    def _described(self, job: Job) -> dict[str, Fact]:
        """Describe a job: its words have the trust of their turn, its result that of a model."""
        trust, source = Provenance(job.trust), f"job:{job.name}"
        said = outside("", trust, source)
        described: dict[str, Fact] = {"name": said.saying(job.name), "state": job.state}
        if job.cron:
            described["cron"] = said.saying(job.cron)
        if job.every_s:
            described["every_minutes"] = job.every_s / 60
        if job.result:
            described["result"] = said.saying(job.result).below(Provenance.MODEL)
        if job.at_s:
            described["at"] = configured(self._shown(job.at_s))
        next_s = coming_s(job, self._clock.wall_s(), self._zone())
        if next_s is not None:
            described["next"] = configured(self._shown(next_s))
        if job.ran_s:
            described["last"] = configured(self._shown(job.ran_s))
        what = "prompt" if job.prompt else "message"
        return described | {what: said.saying(job.prompt or job.message)}

    def _shown(self, at_s: float) -> str:
        return datetime.fromtimestamp(at_s, self._zone()).isoformat(timespec="minutes")


def _owner_of(job: Job) -> Passage:
    return outside(job.person, Provenance(job.trust), f"job:{job.name}")


def _is_of(person: str, job: Job) -> bool:
    return person in {OWNER, job.person}
