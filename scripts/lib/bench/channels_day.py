"""A day of messages over real servers: who writes what, and what goes wrong meanwhile."""

import asyncio
import contextlib
import itertools
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.lib.bench.channels_seen import BusyModel, Message, Plan, Sample, Troubles
from scripts.lib.bench.correspondents.base import ANSWER, Correspondents
from tests.fakes.daemon_process import DaemonProcess

# Kills end with this part of the answers: what lives then is looked at for growth
KILLS_END = 0.3
LOOK_S = 0.1
SAMPLE_S = 1.0
SLOW_S = 3.0
# Without any answer; a channel comes back within a minute, an agent starts in seconds
STUCK_S = 120.0
SETTLED_S = 5.0
# One less than the tries that a turn has: all of them would be answered without the model
_MODEL_REFUSALS = 2
TOLD_EVERY = 100


@dataclass(slots=True)
class Day:
    """Everything that a run wrote and saw."""

    people: Sequence[Correspondents]
    agent: DaemonProcess
    model: BusyModel
    journal: Path
    plan: Plan
    messages: list[Message] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    troubles: Troubles = field(default_factory=Troubles)
    counts: Counter[str] = field(default_factory=Counter)
    unsent: int = 0
    answered: int = 0
    is_ending: bool = False
    _ended_s: float = 0.0

    async def run(self, persons: int) -> None:
        """Return when all is answered, or nothing more comes."""
        await asyncio.to_thread(self.agent.start)
        await asyncio.gather(*(one.ready() for one in self.people))
        self._ended_s = time.monotonic()
        around = [asyncio.ensure_future(work) for work in (self._look(), self._trouble())]
        around.append(asyncio.ensure_future(self._sample()))
        writing = asyncio.gather(*self._hands(persons))
        try:
            await self._while_it_moves([writing, *around])
            await self._settle()
        finally:
            for task in (writing, *around):
                task.cancel()
            await asyncio.gather(*around, writing, return_exceptions=True)

    def end_early(self) -> None:
        """Begin nothing more; what was written is still answered and counted."""
        self.is_ending = True

    def _hands(self, persons: int) -> Iterator[asyncio.Future[None]]:
        whole = sum(one.share for one in self.people)
        for platform in self.people:
            numbers = iter(range(max(1, self.plan.messages * platform.share // whole)))
            for person, _ in itertools.product(range(persons), range(self.plan.at_once)):
                yield asyncio.ensure_future(self._hand(platform, person, numbers))

    async def _hand(self, platform: Correspondents, person: int, numbers: Iterator[int]) -> None:
        for number in itertools.takewhile(lambda _: not self.is_ending, numbers):
            text, tries = f"{platform.name} {number}", itertools.count(1)
            while not (await self._said(platform, person, text)).took_s:
                text = f"{platform.name} {number} again {next(tries)}"

    async def _said(self, platform: Correspondents, person: int, text: str) -> Message:
        message = Message(platform.name, text, time.monotonic())
        # A message that is kept may be answered before the platform says that it has it
        self.messages.append(message)
        await platform.write(person, text)
        await message.ended.wait()
        return message

    async def _while_it_moves(self, tasks: list[asyncio.Future[None]]) -> None:
        while not tasks[0].done() and time.monotonic() - self._ended_s < STUCK_S:
            await asyncio.wait(tasks, timeout=LOOK_S, return_when=asyncio.FIRST_EXCEPTION)
            for task in tasks:
                if task.done() and task.exception():
                    task.result()

    async def _look(self) -> None:
        """End each message as its answer stands there, or its platform has lost it."""
        absences = dict.fromkeys((one.name for one in self.people), 0)
        while True:
            self.counts = sum([await one.answers() for one in self.people], Counter())
            for message in [one for one in self.messages if not one.ended.is_set()]:
                if self.counts[f"{ANSWER}{message.text}"]:
                    self._end(message)
            for platform in self.people:
                if (seen := platform.absences()) != absences[platform.name]:
                    absences[platform.name] = seen
                    self._cut_off(platform.name)
            await asyncio.sleep(LOOK_S)

    def _end(self, message: Message) -> None:
        self._ended_s = time.monotonic()
        message.took_s = self._ended_s - message.begun_s
        self.answered += 1
        if self.answered % TOLD_EVERY == 0:
            print(f"{self.answered:,} of {self.plan.messages:,} answered", file=sys.stderr)
        message.ended.set()

    def _cut_off(self, name: str) -> None:
        for message in self.messages:
            if message.platform == name and not message.ended.is_set():
                message.is_cut_off = True
                message.ended.set()

    async def _sample(self) -> None:
        while True:
            with contextlib.suppress(OSError, StopIteration):
                self.samples.append(Sample(self.troubles.kills, self.answered, self.agent.rss_kib))
            await asyncio.sleep(SAMPLE_S)

    async def _trouble(self) -> None:
        """Spread what goes wrong over the answers, kills over the first of them."""
        every = self.plan.messages / (self.plan.troubles + 1)
        kill_every = self.plan.messages * KILLS_END / (self.plan.kills + 1)
        turns = itertools.cycle(itertools.product(("cut", "slow", "refuse"), self.people))
        done = 0
        while True:
            if self.troubles.kills < self.plan.kills and self.answered > kill_every * (
                self.troubles.kills + 1
            ):
                self.troubles.kills += 1
                await asyncio.to_thread(self.agent.kill)
                await asyncio.to_thread(self.agent.start)
            elif done < self.plan.troubles and self.answered > every * (done + 1):
                done += 1
                await self._disturb(*next(turns))
            await asyncio.sleep(LOOK_S)

    async def _disturb(self, kind: str, platform: Correspondents) -> None:
        if kind == "cut":
            self.troubles.cuts += 1
            platform.cut()
        elif kind == "slow":
            self.troubles.slow_lines += 1
            platform.slow_down(is_slow=True)
            await asyncio.sleep(SLOW_S)
            platform.slow_down(is_slow=False)
        else:
            self.troubles.refusals += 1
            platform.refuse_next()
            self.model.refusals_left = _MODEL_REFUSALS

    async def _settle(self) -> None:
        """Let come what may come twice, and all that the agent still has to say."""
        last, since_s = self.counts.total(), time.monotonic()
        while time.monotonic() - since_s < SETTLED_S:
            await asyncio.sleep(LOOK_S)
            if self.counts.total() != last:
                last, since_s = self.counts.total(), time.monotonic()
        self.unsent = await asyncio.to_thread(_unsent, self.journal)


def _unsent(journal: Path) -> int:
    with contextlib.closing(sqlite3.connect(f"{journal.as_uri()}?mode=ro", uri=True)) as db:
        told = db.execute("SELECT count(*) FROM outbox WHERE state != 'sent'").fetchone()
    return int(told[0])
