"""Agent with one part of those that an owner may add: a process with Telegram and a model."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.system.clock import SystemClock
from scripts.lib.bench.process import Used
from scripts.lib.browser_measures import tree_mb
from tests.fakes import telegram_server
from tests.fakes.children import descendants, is_running
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.llm_server import LlmServer, Reply, streamed
from tests.fakes.llm_server import running as model_running
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_world import ANNA
from tests.waits import wait_until

PATIENCE_S = 60.0
SENTENCE = "turn the led on"
# As the unit has it
_UNIT = {"MALLOC_ARENA_MAX": "1"}
# A start or a turn is over when its memory moves by no more than this for so long, or at the end
_STILL_MIB, _STILL_S, _SETTLED_S = 0.07, 3.0, 30.0
_LOOK_S, _SETTLING_LOOK_S = 0.02, 0.5


@dataclass(frozen=True)
class Taken:
    """Memory and time of one agent.

    Args:
        children_mib: most of its processes together while it was used.
        left: processes that were there after that and not before it.
    """

    start_cpu_s: float
    idle_mib: float
    used_mib: float
    idle_children_mib: float
    children_mib: float
    left: int


@dataclass(frozen=True)
class Home:
    """Surroundings of an agent: its folder, bot and model.

    Args:
        answers: of the model, in order; the last one for ever.
    """

    folder: Path
    bot: TelegramServer
    model: LlmServer
    answers: list[Reply]


Deed = Callable[[Home], Awaitable[None]]


@dataclass(frozen=True)
class Configured:
    """Configuration of a part, and its environment.

    Args:
        deed: uses it once.
        agent: lines of the section `[agent]`.
        provider: section of the model, instead of the pretended one.
    """

    deed: Deed
    lines: str = ""
    agent: str = ""
    provider: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)


# What a part needs beside the agent, until the block ends
Around = Callable[[Home], contextlib.AbstractAsyncContextManager[Configured]]


@dataclass(frozen=True)
class Part:
    """A part of the agent.

    Args:
        missing: says why it cannot be measured here.
        over: the part that it stands on, whose memory is not its own.
    """

    name: str
    around: Around
    missing: str = ""
    over: "Part | None" = None


@contextlib.asynccontextmanager
async def nothing(_home: Home) -> AsyncIterator[Configured]:
    yield Configured(write)


async def write(home: Home) -> None:
    """The owner writes, and is answered."""
    said = len(home.bot.world.sent)
    await home.bot.world.write(SENTENCE)
    await wait_until(lambda: len(home.bot.world.sent) > said, PATIENCE_S)


@contextlib.asynccontextmanager
async def agent_with(
    part: Part, code: Path, **environ: str
) -> AsyncIterator[tuple[DaemonProcess, Home, Deed]]:
    """Yield an agent of the source in a folder, and what uses its part."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barnacle-")))
        bot = await stack.enter_async_context(telegram_server.running())
        answers = [streamed("It is on.")]
        model = await stack.enter_async_context(model_running(_in_order(answers)))
        home = Home(folder, bot, model, answers)
        told = await stack.enter_async_context(part.around(home))
        _let_in(folder / "state")
        # The source of the folder, wherever this runs
        source = {"PYTHONPATH": str(code), "PYTHONSAFEPATH": "1"}
        more = {**_UNIT, **source, **told.environ, **environ}
        daemon = DaemonProcess(folder, _config(home, told), **more)
        await asyncio.to_thread(daemon.start)
        stack.callback(daemon.kill)
        yield daemon, home, told.deed


async def taken(part: Part, code: Path) -> Taken:
    async with agent_with(part, code) as (agent, home, deed):
        cpu_s = await until_it_polls(agent, home)
        idle_mib = await _settled_mib(agent)
        before, idle_children_mib = descendants(agent.pid), tree_mb(agent.pid)
        using = asyncio.ensure_future(deed(home))
        most_mib = 0.0
        while not using.done():
            most_mib = max(most_mib, tree_mb(agent.pid))
            await asyncio.wait({using}, timeout=_LOOK_S)
        using.result()
        used_mib = await _settled_mib(agent)
        left = [one for one in descendants(agent.pid) - before if is_running(one)]
        return Taken(cpu_s, idle_mib, used_mib, idle_children_mib, most_mib, len(left))


async def _settled_mib(agent: DaemonProcess) -> float:
    """Return the memory of the process when it moves no more."""
    seen, ends_s = [agent.rss_kib / 1024], time.monotonic() + _SETTLED_S
    looks = round(_STILL_S / _SETTLING_LOOK_S)
    while time.monotonic() < ends_s:
        await asyncio.sleep(_SETTLING_LOOK_S)
        seen.append(agent.rss_kib / 1024)
        last = seen[-looks:]
        if len(last) == looks and max(last) - min(last) <= _STILL_MIB:
            break
    return seen[-1]


async def until_it_polls(agent: DaemonProcess, home: Home) -> float:
    """Return the CPU time of its start."""
    await wait_until(lambda: home.bot.called("getUpdates"), PATIENCE_S)
    return Used.by(agent.pid).cpu_s


def _in_order(answers: list[Reply]) -> Callable[[object], Reply]:
    return lambda _: answers.pop(0) if len(answers) > 1 else answers[0]


def _config(home: Home, told: Configured) -> str:
    by_http = f'[provider]\nbase_url = "{home.model.base_url}"\nmodel = "fake"\n'
    return (
        f'[agent]\nautonomy = "full"\n{told.agent}[log]\nlevel = "error"\n[embeddings]\n'
        f'provider = "none"\n{told.provider or by_http}'
        f'[channels.telegram]\nbase_url = "{home.bot.base_url}"\ntoken = "{home.bot.token}"\n'
        f"{told.lines}"
    )


def _let_in(state: Path) -> None:
    state.mkdir(mode=0o700, exist_ok=True)
    account = PersonAccount(channel="telegram", sender=f"{ANNA}", target=f"{ANNA}")
    PeopleStore(state / "people.json", SystemClock()).let_in(PersonRole.OWNER, account, "anna")
