"""Count of what a restore repeats or loses when everything is killed at random moments.

An agent answers a chat and runs a pump. A backup is made while it works; it goes on for a random
time and is killed. The backup is restored under kills, and the restored agent is killed twice. With
--power each kill is a power cut: the disk forgets what the kernel had not written yet.
"""

import argparse
import asyncio
import json
import random
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import astuple
from pathlib import Path

from agent.backup.encryption import Recipients, make_key
from agent.schedule.job import Job
from agent.schedule.job_store import JobStore
from agent.security.approvals import StandingApproval, StandingApprovals
from agent.system.clock import SystemClock
from scripts.lib.backup_findings import Findings, compare, count
from scripts.lib.backup_world import ACTS, BACKUP, CHAT, DEVICE, READY, SENT, World
from scripts.lib.bench.block_devices import LoopDisk, cut_disk, keep_mounts_apart, missing
from tests.fakes.lives import Lives, lives_of
from tests.fakes.llm_server import Call, Json, Reply, streamed, whole
from tests.fakes.llm_thread import LlmThread

# A slow machine that does much else
PATIENCE_S = 180.0
RESTORE_KILLS, START_KILLS = 2, 2
LONGEST_RESTORE_S, LONGEST_START_S, LONGEST_AGE_S = 0.15, 0.6, 3.0
# Looking costs the agents of a small machine time
_LOOK_S = 0.2
# Shown of an agent that did not answer
_LOG_CHARS = 4000
_RESTORED = "I was restored from the backup"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/kill-backup", description=__doc__)
    parser.add_argument("--restores", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--power", action="store_true", help="cut the power each time; needs root")
    chosen = parser.parse_args(arguments)
    if chosen.power and (reason := missing()):
        parser.error(f"--power: {reason}")
    if chosen.power:
        keep_mounts_apart()
    begun_s, found = time.monotonic(), Findings()
    asyncio.run(_restores(chosen.restores, chosen.seed, found, has_power_cuts=chosen.power))
    for name, value in zip(Findings.__slots__, astuple(found), strict=True):
        print(f"{name.replace('_', ' '):<20}{value:>8}")
    print(f"{'seconds':<20}{time.monotonic() - begun_s:>8.0f}")
    return 0 if found.is_clean else 1


async def _restores(times: int, seed: int, found: Findings, *, has_power_cuts: bool) -> None:
    with LlmThread(run_pump) as model, lives_of("scripts.lib.backup_world") as lives:
        for number in range(times):
            chance = random.Random(f"{seed}-{number}")  # noqa: S311 - moments, not secrets
            with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
                folder, disk = Path(name), None
                if has_power_cuts:
                    disk = stack.enter_context(cut_disk(folder / "disk"))
                    (folder / DEVICE).symlink_to(disk.root)
                trial = Trial(World(folder), chance, found, lives, disk)
                await trial.run(model.server.base_url)
            if (number + 1) % 10 == 0:
                print(f"{number + 1} restores: {found}", file=sys.stderr)


class Trial:
    """One device: made, backed up, killed, restored.

    Args:
        lives: begins its processes.
        disk: of its state, whose power is cut at each kill; None where it is only killed.
    """

    def __init__(
        self,
        world: World,
        chance: random.Random,
        found: Findings,
        lives: Lives,
        disk: LoopDisk | None = None,
    ) -> None:
        self._world, self._chance, self._found, self._lives = world, chance, found, lives
        self._disk = disk
        self._secret, public = make_key()
        self._recipients = Recipients(keys=(public,))
        self._said = 0

    async def run(self, url: str) -> None:
        world = self._world
        world.make(url)
        self._prepare()
        async with self._killed("run", LONGEST_AGE_S):
            await _wait((world.folder / READY).exists)
            await self._say_some()
            await asyncio.to_thread(self._back_up)
            await self._say_some()
        for _ in range(RESTORE_KILLS):
            async with self._killed("restore", LONGEST_RESTORE_S):
                pass
        async with self._lives.begin("restore", str(world.folder), self._secret) as whole:
            async with asyncio.timeout(PATIENCE_S):
                status = await asyncio.shield(whole.ending)
            assert status == 0, f"the restore ended with {status} in {self._world.folder}"
        for _ in range(START_KILLS):
            async with self._killed("run", LONGEST_START_S):
                pass
        fresh = self._say()
        async with self._killed("run", 0.0):
            try:
                await _wait(lambda: self._is_answered(fresh) and self._is_told())
            except TimeoutError:
                print((world.folder / "log").read_text()[-_LOG_CHARS:], file=sys.stderr)
                raise
        assert sum(row["number"] == int(fresh[1:]) for row in world.rows(ACTS)) == 1, fresh
        count(world, self._found)
        compare(world, self._secret, self._found)

    @asynccontextmanager
    async def _killed(self, action: str, longest_s: float) -> AsyncIterator[None]:
        """A process that is killed at a random moment after the block."""
        async with self._lives.begin(action, str(self._world.folder), self._secret) as life:
            yield
            await asyncio.sleep(self._chance.uniform(0, longest_s))
            if self._disk is not None:
                # A device without power tells nobody that its disk takes no more
                life.freeze()
                self._disk.cut()
        if self._disk is not None:
            self._disk.come_back()
        self._found.kills += 1

    def _back_up(self) -> None:
        self._world.plan(self._recipients).write_file(self._world.folder / BACKUP)

    def _prepare(self) -> None:
        jobs, now_s = JobStore(self._world.state / "jobs.json"), time.time()
        for number in range(5):
            at_s = now_s + self._chance.uniform(1.0, 6.0)
            text = f"tick {number}"
            place = {"channel": "world", "target": "home", "person": "owner"}
            jobs.add(Job(name=f"tick{number}", at_s=at_s, message=text, **place))  # type: ignore[arg-type]  # texts
        approvals = StandingApprovals(self._world.state / "approvals.json", SystemClock())
        until_s = approvals.end_s()
        approvals.add(StandingApproval(call="c", tool="t", arguments="{}", until_s=until_s))
        for number in range(20):
            (self._world.state / "workspace" / f"note{number}.md").write_text(f"note {number}")

    async def _say_some(self) -> None:
        for _ in range(self._chance.randint(1, 5)):
            self._say()
            await asyncio.sleep(self._chance.uniform(0, 0.15))

    def _say(self) -> str:
        self._said += 1
        row = {"id": f"m{self._said}", "text": f"pump {self._said}", "at_s": time.time()}
        self._world.add(CHAT, row)
        return f"m{self._said}"

    def _is_answered(self, message_id: str) -> bool:
        return any(row["answers"] == message_id for row in self._world.rows(SENT))

    def _is_told(self) -> bool:
        with closing(sqlite3.connect(self._world.state / "agent.db")) as db:
            query = "SELECT count(*) FROM inbox WHERE state IN ('untold', 'accepted', 'running')"
            (left,) = db.execute(query).fetchone()
        return not left and any(_RESTORED in str(row["text"]) for row in self._world.rows(SENT))


def run_pump(request: Json) -> Reply:
    """Call the pump once for an order, then say so."""
    make = streamed if request.get("stream") else whole
    messages = [one for one in request["messages"] if isinstance(one, dict)]  # type: ignore[attr-defined]  # a list
    asked = next((m for m in reversed(messages) if m.get("role") == "user"), {})
    order = re.search(r"pump (\d+)", str(asked.get("content")))
    if messages[-1].get("role") == "tool" or order is None:
        return make("done.")
    number = int(order[1])
    return make("", Call("pump", json.dumps({"number": number}), f"call_{number}"))


async def _wait(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - files of other processes
            await asyncio.sleep(_LOOK_S)
