"""Benchmark of parts that most agents do not have: voice, browser, program and AIEOS identity.

The agent is a process with Telegram and a pretended model; each part is configured alone, and used
once. An agent without any of them has to be as one of before they came, and loads nothing of them.
"""

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.lib.bench.extras_agent import PATIENCE_S, Home, Part, agent_with
from scripts.lib.bench.extras_tried import PARTS, nothing
from scripts.lib.bench.process import Used
from scripts.lib.bench.table import NO_BAR, Row, show
from scripts.lib.browser_measures import tree_mb
from tests.fakes.children import descendants, is_running
from tests.fakes.daemon_process import DaemonProcess
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
_NONE_LEFT = "no process left"
_SHOWN_CHARS = 100
# The work of a first minute is over, of a start and of a turn
_SETTLE_S = 4.0
_LOOK_S = 0.02


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
    plain = Part("none of them", nothing)
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
            rows.append(await _tried(part, starts, now))
    return rows


async def _tried(part: Part, starts: int, plain: Taken) -> Row:
    try:
        return _row(part, await _median_of(part, ROOT, starts), plain)
    except AssertionError as err:
        # The other parts are measured all the same
        return Row(part.name, _NONE_LEFT, f"not used: {str(err)[:_SHOWN_CHARS]}", "", held=False)


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
    return Row(part.name, _NONE_LEFT, told, _told(plain), taken.left == 0)


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
    async with agent_with(part, code) as (agent, home, deed):
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
    async with agent_with(part, ROOT, PYTHONPROFILEIMPORTTIME="1") as (agent, home, deed):
        await _until_it_polls(agent, home)
        await deed(home)
        lines = (line for line in agent.log().splitlines() if line.startswith("import time:"))
        loaded = [line.rpartition("|")[2].strip() for line in lines]
    assert "agent.turn.turn" in loaded, "the agent told nothing of what it loads"
    return [one for one in loaded if one.startswith(MODULES)]


async def _until_it_polls(agent: DaemonProcess, home: Home) -> float:
    """Return the CPU time of its start."""
    await wait_until(lambda: home.bot.called("getUpdates"), PATIENCE_S)
    return Used.by(agent.pid).cpu_s


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
        # As ours is: a first start would hold what it compiles
        compiling = (sys.executable, "-m", "compileall", "-q", f"{folder}/agent")
        subprocess.run(compiling, stdout=subprocess.DEVNULL, check=False)
        yield Path(folder)
