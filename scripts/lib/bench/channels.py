"""Sends a day's messages over real chat servers, and counts what is lost and what comes twice.

The agent is one process with all platforms at once, everything kept on disk; the model repeats what
it is told. Lines to the servers are cut and slowed down, servers and the model service refuse
because they are busy, and the agent is killed (SIGKILL) and started again. All people of a platform
write several messages at once. Where a server keeps nothing for who is away (IRC) people write
again what the agent had not answered when they saw it go.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent.access.people import PeopleStore
from agent.access.roles import PersonRole
from agent.system.clock import SystemClock
from scripts.lib.bench.channels_day import Day
from scripts.lib.bench.channels_seen import AT_ONCE, BusyModel, Plan
from scripts.lib.bench.channels_table import PEOPLE, rows_of
from scripts.lib.bench.correspondents import PLATFORMS
from scripts.lib.bench.correspondents.base import Correspondents
from scripts.lib.bench.table import Row, show
from tests.fakes import llm_server
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.echoing_model import EchoingModel
from tests.fakes.llm_server import Json, Reply

MESSAGES = 20_000
KILLS = 8
# One in so many answers comes in pieces, as a model's does: a draft grows meanwhile
_SLOW_EVERY = 10
_PIECE_BYTES, _PIECE_S = 300, 0.2
_MESSAGES_PER_TROUBLE = 25
_CLEAR_S = 0.1


class Model(EchoingModel, BusyModel):
    """A model service that repeats what it is told, and is busy now and then."""

    _count = 0

    def respond(self, request: Json) -> Reply:
        if self.refusals_left:
            self.refusals_left -= 1
            busy = llm_server.failed(429, "Rate limit reached")
            return replace(busy, headers=(("retry-after", "1"),))
        self._count += 1
        reply = super().respond(request)
        if self._count % _SLOW_EVERY:
            return reply
        return replace(reply, piece_bytes=_PIECE_BYTES, pause_s=_PIECE_S)


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    parser = argparse.ArgumentParser(prog="bench-channels", description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES, help=f"default {MESSAGES:,}")
    parser.add_argument("--kills", type=int, default=KILLS, help=f"default {KILLS}")
    parser.add_argument(
        "--at-once", type=int, default=AT_ONCE, help=f"of each person, default {AT_ONCE}"
    )
    parser.add_argument("--calm", action="store_true", help="nothing is cut, slow, busy or killed")
    parser.add_argument("--only", nargs="+", choices=PLATFORMS, default=list(PLATFORMS))
    parser.add_argument("--log", type=Path, help="where to keep the agent's log")
    given = parser.parse_args(arguments)
    begun_s = time.monotonic()
    day, missing = asyncio.run(_measured(given))
    rows = [*rows_of(day, time.monotonic() - begun_s)]
    rows += [Row(name, "0 lost", why, "", None) for name, why in missing.items()]
    print()
    show(rows)
    return 0 if all(row.held is not False for row in rows) else 1


async def _measured(given: argparse.Namespace) -> tuple[Day, dict[str, str]]:
    model, missing = Model(), {}
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barnacle-")))
        service = await stack.enter_async_context(llm_server.running(model.respond))
        await stack.enter_async_context(_cleared(service.requests))
        _make_folders(folder, given.only)
        people: list[Correspondents] = []
        for name in given.only:
            try:
                opened = PLATFORMS[name](folder / name, PEOPLE)
                people.append(await stack.enter_async_context(opened))
            except pytest.skip.Exception as err:
                missing[name] = str(err)
        agent = DaemonProcess(folder, _config(service.base_url, people))
        _let_in(folder / "state", people)
        plan = Plan(given.messages, given.at_once)
        if not given.calm:
            troubles = max(given.messages // _MESSAGES_PER_TROUBLE, 1)
            plan = replace(plan, kills=given.kills, troubles=troubles)
        journal = folder / "state" / "agent.db"
        day = Day(people, agent, model, journal, plan)
        # Whoever ends a long run has the table of what was done until then
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, day.end_early)
        try:
            await day.run(PEOPLE)
        finally:
            agent.kill()
            if given.log:
                given.log.write_text(agent.log())
    return day, missing


def _make_folders(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        (folder / name).mkdir()


@contextlib.asynccontextmanager
async def _cleared(requests: list[object]) -> AsyncIterator[None]:
    """Keep no request of the model service: each holds a whole history."""

    async def clear() -> None:
        while True:
            requests.clear()
            await asyncio.sleep(_CLEAR_S)

    clearing = asyncio.ensure_future(clear())
    try:
        yield
    finally:
        clearing.cancel()
        await asyncio.wait([clearing])


def _config(base_url: str, people: Sequence[Correspondents]) -> str:
    tables = "\n".join(one.table for one in people)
    return (
        f'[provider]\nbase_url = "{base_url}"\nmodel = "fake"\n'
        f'[embeddings]\nprovider = "none"\n[memory]\nconsolidate = false\n{tables}'
    )


def _let_in(state: Path, people: Sequence[Correspondents]) -> None:
    store = PeopleStore(state / "people.json", SystemClock())
    for platform in people:
        for number, account in enumerate(platform.accounts):
            role = PersonRole.USER if number else PersonRole.OWNER
            store.let_in(role, account, f"{platform.name} {number}" if number else "Anna")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
