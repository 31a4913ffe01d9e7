"""Benchmark of parts that most agents do not have: voice, browser, program and AIEOS identity.

The agent is a process with Telegram and a pretended model; each part is configured alone, and used
once. An agent without any of them has to be as one of before they came, and loads nothing of them.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.channels.speech.base import OGG
from agent.system.clock import SystemClock
from agent.turn.prompt_files import APPROVALS_FILE, ProjectFiles
from scripts.lib.bench.process import Used
from scripts.lib.bench.recordings import spoken, voice_message
from scripts.lib.bench.table import NO_BAR, Row, show
from scripts.lib.browser_measures import tree_mb
from tests.fakes import telegram_server
from tests.fakes.children import descendants, is_running
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.hostile_site import FURTHER, hostile_sites
from tests.fakes.llm_server import Call, LlmServer, Reply, streamed
from tests.fakes.llm_server import running as model_running
from tests.fakes.real_browser import no_browser
from tests.fakes.room import Room, no_alsa, room_in
from tests.fakes.sounds import no_sounds
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_world import ANNA
from tests.fakes.wyoming_house import WyomingHouse, wyoming_house
from tests.waits import wait_until

ROOT = Path(__file__).resolve().parents[3]
# The last one without any of them
BEFORE = "cbcfd31665c42f06d8bcde07391eee9e7ef268cc"
MOST_MORE_MB = 1.0
# How the modules of the parts begin; their settings are read to say what is configured
MODULES = (
    *("agent.channels.voice", "agent.channels.speech.", "agent.net.wyoming", "agent.app.voice"),
    *("agent.tools.browser", "agent.app.browser", "agent.providers.program", "agent.turn.aieos"),
)
_STARTS = 3
# The work of a first minute is over, of a start and of a turn
_SETTLE_S = 4.0
_LOOK_S = 0.02
_PATIENCE_S = 60.0
# As the unit has it
_UNIT = {"MALLOC_ARENA_MAX": "1"}
_MB = 2**20
_SENTENCE, _TIME, _VOICE = "turn the led on", "what time is it", "en-us"
_NAME, _IDENTITY_FILE = "Balanus", "identity.json"
_IDENTITY = {
    "standard": {"protocol": "AIEOS", "version": "1.2.0"},
    "identity": {"names": {"first": _NAME}},
    "linguistics": {"text_style": {"formality_level": 0.2}},
}


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
    """A part of the agent; `missing` says why it cannot be measured here."""

    name: str
    around: Around
    missing: str = ""


@dataclass(frozen=True)
class Taken:
    """Memory and time of one agent.

    Args:
        children_mb: most of its processes together while it was used.
        left: processes that were there after that and not before it.
    """

    start_cpu_s: float
    idle_mb: float
    used_mb: float
    idle_children_mb: float
    children_mb: float
    left: int


def main(arguments: Sequence[str]) -> int:
    """Print the table; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="bench-extras", description=__doc__)
    parser.add_argument("--before", default=BEFORE, help="a commit without them; '' for none")
    parser.add_argument("--starts", type=int, default=_STARTS, help="the median of so many")
    parser.add_argument("parts", nargs="*", help="words of the names of those that are wanted")
    wanted = parser.parse_args(arguments)
    rows = asyncio.run(_measured(wanted.before, wanted.starts, wanted.parts))
    show(rows)
    return int(any(row.held is False for row in rows))


async def _measured(before: str, starts: int, names: Sequence[str]) -> list[Row]:
    plain = Part("none of them", _nothing)
    now = await _median_of(plain, ROOT, starts)
    rows = [_modules_row(await _modules(plain))]
    with _checked_out(before) as former:
        if former is not None:
            rows.append(_unchanged(now, await _median_of(plain, former, starts)))
    for part in PARTS:
        if names and not any(word in part.name for word in names):
            continue
        if part.missing:
            rows.append(Row(part.name, NO_BAR, part.missing, "", None))
        else:
            rows.append(_row(part, await _median_of(part, ROOT, starts), now))
    return rows


def _unchanged(now: Taken, former: Taken) -> Row:
    more = max(now.idle_mb - former.idle_mb, now.used_mb - former.used_mb)
    return Row(
        "the agent without any of them: RSS idle, after a turn; CPU of its start",
        f"<= {MOST_MORE_MB:.0f} MB more",
        _told(now),
        f"{_told(former)} (before they came)",
        more <= MOST_MORE_MB,
    )


def _row(part: Part, taken: Taken, plain: Taken) -> Row:
    told = _told(taken)
    if taken.idle_children_mb:
        told += f"; processes of its own {taken.idle_children_mb:.0f} MB idle"
    if taken.children_mb > taken.idle_children_mb:
        told += f"; processes {taken.children_mb:.0f} MB at most while it is used"
    return Row(part.name, "no process left", told, _told(plain), taken.left == 0)


def _told(taken: Taken) -> str:
    return f"{taken.idle_mb:.1f} MB, {taken.used_mb:.1f} MB; {taken.start_cpu_s:.2f} s"


def _modules_row(found: Sequence[str]) -> Row:
    told = f"{len(found)} loaded{': ' if found else ''}{', '.join(found)}"
    what = "the agent without any of them: their modules after a turn"
    return Row(what, "0", told, "", not found)


async def _median_of(part: Part, code: Path, starts: int) -> Taken:
    found = [await _taken(part, code) for _ in range(starts)]
    middle = statistics.median
    return Taken(
        middle(one.start_cpu_s for one in found),
        middle(one.idle_mb for one in found),
        middle(one.used_mb for one in found),
        middle(one.idle_children_mb for one in found),
        max(one.children_mb for one in found),
        max(one.left for one in found),
    )


async def _taken(part: Part, code: Path) -> Taken:
    async with _agent(part, code) as (agent, home, deed):
        cpu_s = await _until_it_polls(agent, home)
        await asyncio.sleep(_SETTLE_S)
        idle_mb, before = agent.rss_kib / 1024, descendants(agent.pid)
        idle_children_mb = tree_mb(agent.pid)
        using = asyncio.ensure_future(deed(home))
        most_mb = 0.0
        while not using.done():
            most_mb = max(most_mb, tree_mb(agent.pid))
            await asyncio.wait({using}, timeout=_LOOK_S)
        using.result()
        await asyncio.sleep(_SETTLE_S)
        left = [one for one in descendants(agent.pid) - before if is_running(one)]
        return Taken(cpu_s, idle_mb, agent.rss_kib / 1024, idle_children_mb, most_mb, len(left))


async def _modules(part: Part) -> list[str]:
    """Return the modules of parts that an agent loads which has none of them."""
    async with _agent(part, ROOT, PYTHONPROFILEIMPORTTIME="1") as (agent, home, deed):
        await _until_it_polls(agent, home)
        await deed(home)
        lines = (line for line in agent.log().splitlines() if line.startswith("import time:"))
        loaded = [line.rpartition("|")[2].strip() for line in lines]
    assert "agent.turn.turn" in loaded, "the agent told nothing of what it loads"
    return [one for one in loaded if one.startswith(MODULES)]


async def _until_it_polls(agent: DaemonProcess, home: Home) -> float:
    """Return the CPU time of its start."""
    await wait_until(lambda: home.bot.called("getUpdates"), _PATIENCE_S)
    return Used.by(agent.pid).cpu_s


@contextlib.asynccontextmanager
async def _agent(
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


@contextlib.contextmanager
def _checked_out(commit: str) -> Iterator[Path | None]:
    """Yield a folder with the source of a commit; None for none, or where there is no history."""
    with tempfile.TemporaryDirectory(prefix="barnacle-") as folder:
        packed = subprocess.run(
            ["git", "archive", commit or "none", "agent", "pyproject.toml"],
            cwd=ROOT, capture_output=True, check=False,
        )  # fmt: skip
        if packed.returncode:
            yield None
            return
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        yield Path(folder)


@contextlib.asynccontextmanager
async def _nothing(_home: Home) -> AsyncIterator[Configured]:
    yield Configured(_write)


async def _write(home: Home) -> None:
    """The owner writes, and is answered."""
    said = len(home.bot.world.sent)
    await home.bot.world.write(_SENTENCE)
    await wait_until(lambda: len(home.bot.world.sent) > said, _PATIENCE_S)


def _speech(hears: str, speaks: str, server: str = "") -> str:
    at = f'server = "{server}"\n' if server else ""
    return (
        f'[channels.speech]\nkind = "{hears}"\nvoice = "mirror"\n{at}'
        f'[channels.speech.speaker]\nkind = "{speaks}"\n{at}'
    )


@contextlib.asynccontextmanager
async def _at_the_house(_home: Home) -> AsyncIterator[Configured]:
    async with wyoming_house(WyomingHouse(text=_SENTENCE)) as house:
        yield Configured(_write_by_voice, _speech("wyoming", "wyoming", house.server))


@contextlib.asynccontextmanager
async def _on_the_device(_home: Home) -> AsyncIterator[Configured]:
    yield Configured(_write_by_voice, _speech("pocketsphinx", "espeak-ng"))


async def _write_by_voice(home: Home) -> None:
    """The owner records a voice message, and is answered by voice."""
    content = await asyncio.to_thread(voice_message, _TIME, _VOICE)
    world = home.bot.world
    await world.write(voice={**world.keep(content), "duration": 2, "mime_type": OGG})
    await wait_until(lambda: any("voice" in one for one in world.sent), _PATIENCE_S)


@contextlib.asynccontextmanager
async def _in_a_room(home: Home) -> AsyncIterator[Configured]:
    house = WyomingHouse(text=f"barnacle {_SENTENCE}")
    async with wyoming_house(house):
        with room_in(home.folder / "room") as room:
            lines = f"[channels.voice]\n{_speech('wyoming', 'wyoming', house.server)}"
            yield Configured(partial(_say, room), lines, environ=room.environ)


async def _say(room: Room, _home: Home) -> None:
    """Somebody says it in the room, and is answered by the loudspeaker."""
    pcm = await asyncio.to_thread(spoken, _SENTENCE, _VOICE)
    await asyncio.to_thread(room.play, pcm)
    await wait_until(lambda: room.said, _PATIENCE_S)


@contextlib.asynccontextmanager
async def _with_a_browser(home: Home) -> AsyncIterator[Configured]:
    with hostile_sites(FURTHER) as (site, _):
        opening = Call("browser_open", json.dumps({"url": f"{site.url}/shop"}))
        closing = Call("browser_close", "{}", "call_2")
        done = streamed("It is done.")
        home.answers[:] = [streamed("", opening), done, streamed("", closing), done]
        yield Configured(_browse, f'[browser]\n[web]\nlocal = ["{site.spot}"]\n')


async def _browse(home: Home) -> None:
    """The model opens a page, and closes it when it is written to again."""
    await _write(home)
    await _write(home)
    told = json.dumps(home.model.requests[-1].body)
    assert "Basil" in told, told[-2000:]


@contextlib.asynccontextmanager
async def _by_a_program(_home: Home) -> AsyncIterator[Configured]:
    program = '[provider]\nkind = "program"\n[provider.program]\ncommand = ["tail", "-n", "1"]\n'
    yield Configured(_write, provider=program)


@contextlib.asynccontextmanager
async def _as_somebody(home: Home) -> AsyncIterator[Configured]:
    state = home.folder / "state"
    workspace = state / "workspace"
    workspace.mkdir(mode=0o700, parents=True)
    (workspace / _IDENTITY_FILE).write_text(json.dumps(_IDENTITY))
    files = ProjectFiles(workspace, state / APPROVALS_FILE, _IDENTITY_FILE)
    [identity] = files.every()
    files.approve(identity.name, identity.digest)
    yield Configured(_write_to_somebody, agent=f'identity = "{_IDENTITY_FILE}"\n')


async def _write_to_somebody(home: Home) -> None:
    await _write(home)
    told = json.dumps(home.model.requests[-1].body)
    assert _NAME in told, told[:2000]


_NO_SOUND = no_sounds("espeak-ng", "opusenc")
_NO_RECOGNISER = "" if find_spec("pocketsphinx") else "pocketsphinx is not installed: extra speech"
PARTS = (
    Part("Wyoming client, heard and spoken", _at_the_house, _NO_SOUND),
    Part(
        "pocketsphinx and espeak-ng, heard and spoken",
        _on_the_device,
        _NO_SOUND or _NO_RECOGNISER,
    ),
    Part("channel voice by ALSA, with the Wyoming client", _in_a_room, no_alsa()),
    Part("browser tool, a page opened and closed", _with_a_browser, no_browser()),
    Part("program as a model (`tail`), one answer", _by_a_program),
    Part("AIEOS identity, one answer", _as_somebody),
)
