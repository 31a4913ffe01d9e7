"""Measures what each part that an owner may add costs the agent, unused and used.

The agent is a process with Telegram and a pretended model; each part is configured alone, and used
once. What a part stands on is not counted as its own. An agent without any of them has to be as one
of before they came, and loads nothing of them.
"""

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.lib.bench import parts_beyond, parts_within
from scripts.lib.bench.parts_agent import Part, Taken, agent_with, nothing, taken, until_it_polls
from scripts.lib.bench.table import NO_BAR, Row, show

ROOT = Path(__file__).resolve().parents[3]
# The last one without any of them
BEFORE = "ece39d3320308be1457ad6992604f7248ba0fccd"
NOTHING = Part("none of them", nothing)
PARTS = (*parts_beyond.PARTS, *parts_within.PARTS)
MOST_MORE_MIB = 1.0
# How the modules of the parts begin; their settings are read to say what is configured
MODULES = (
    *("agent.channels.voice", "agent.channels.speech.", "agent.net.wyoming", "agent.app.voice"),
    *("agent.tools.browser", "agent.app.browser", "agent.providers.program", "agent.turn.aieos"),
)
_STARTS = 3
_NONE_LEFT = "no process left"
_SHOWN_CHARS = 100


def main(arguments: Sequence[str]) -> int:
    """Print the table; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="bench-parts", description=__doc__)
    parser.add_argument("--since", default=BEFORE, help="a commit without them; '' for none")
    parser.add_argument("--starts", type=int, default=_STARTS, help="the median of so many")
    parser.add_argument("parts", nargs="*", help="words of the names of those that are wanted")
    wanted = parser.parse_args(arguments)
    rows = asyncio.run(_measured(wanted.since, wanted.starts, wanted.parts))
    show(rows)
    return int(any(row.held is False for row in rows))


def chosen(words: Sequence[str]) -> list[Part]:
    """Return the parts with one of the words in their names, or all."""
    return [part for part in PARTS if not words or any(word in part.name for word in words)]


async def _measured(since: str, starts: int, words: Sequence[str]) -> list[Row]:
    found = {NOTHING.name: await _median_of(NOTHING, ROOT, starts)}
    rows = [_modules_row(await _modules(NOTHING))]
    with _checked_out(since) as former:
        if former is not None:
            before = await _median_of(NOTHING, former, starts)
            rows.append(_unchanged(found[NOTHING.name], before, since[:12]))
    return [*rows, *[await _tried(part, starts, found) for part in chosen(words)]]


async def _tried(part: Part, starts: int, found: dict[str, Taken]) -> Row:
    """Measure a part, and the one that it stands on where nobody has yet."""
    if part.missing:
        return Row(part.name, NO_BAR, part.missing, "", None)
    below = part.over or NOTHING
    try:
        for one in (below, part):
            if one.name not in found:
                found[one.name] = await _median_of(one, ROOT, starts)
    except AssertionError as err:
        # The other parts are measured all the same
        return Row(part.name, _NONE_LEFT, f"not used: {str(err)[:_SHOWN_CHARS]}", "", held=False)
    return _row(part, found[part.name], found[below.name])


def _unchanged(now: Taken, former: Taken, since: str) -> Row:
    more = max(now.idle_mib - former.idle_mib, now.used_mib - former.used_mib)
    return Row(
        "an agent without any of them",
        f"<= {MOST_MORE_MIB:.0f} MiB more",
        _told(now, former),
        f"{_told(former)} at {since}",
        more <= MOST_MORE_MIB,
    )


def _row(part: Part, taken: Taken, below: Taken) -> Row:
    told = _told(taken, below)
    if taken.idle_children_mib:
        told += f"; processes of its own {taken.idle_children_mib:.0f} MiB idle"
    if taken.children_mib > taken.idle_children_mib:
        told += f"; processes {taken.children_mib:.0f} MiB at most while it is used"
    over = f"{_told(below)} with {(part.over or NOTHING).name}"
    return Row(part.name, _NONE_LEFT, told, over, taken.left == 0)


def _told(taken: Taken, below: Taken | None = None) -> str:
    idle, used = f"{taken.idle_mib:.1f} MiB", f"{taken.used_mib:.1f} MiB"
    if below is not None:
        idle += f" ({taken.idle_mib - below.idle_mib:+.1f})"
        used += f" ({taken.used_mib - below.used_mib:+.1f})"
    return f"{idle} idle, {used} used, start {taken.start_cpu_s:.2f} s of CPU"


def _modules_row(found: Sequence[str]) -> Row:
    told = f"{len(found)} loaded{': ' if found else ''}{', '.join(found)}"
    what = "an agent without any of them: their modules after a turn"
    return Row(what, "0", told, "", not found)


async def _median_of(part: Part, code: Path, starts: int) -> Taken:
    found = [await taken(part, code) for _ in range(starts)]
    middle = statistics.median
    return Taken(
        middle(one.start_cpu_s for one in found),
        middle(one.idle_mib for one in found),
        middle(one.used_mib for one in found),
        middle(one.idle_children_mib for one in found),
        max(one.children_mib for one in found),
        max(one.left for one in found),
    )


async def _modules(part: Part) -> list[str]:
    """Return the modules of parts that an agent loads which has none of them."""
    async with agent_with(part, ROOT, PYTHONPROFILEIMPORTTIME="1") as (agent, home, deed):
        await until_it_polls(agent, home)
        await deed(home)
        lines = (line for line in agent.log().splitlines() if line.startswith("import time:"))
        loaded = [line.rpartition("|")[2].strip() for line in lines]
    assert "agent.turn.turn" in loaded, "the agent told nothing of what it loads"
    return [one for one in loaded if one.startswith(MODULES)]


@contextlib.contextmanager
def _checked_out(commit: str) -> Iterator[Path | None]:
    """Yield a folder with the source of a commit; None for none, or where there is no history."""
    with tempfile.TemporaryDirectory(prefix="barnacle-") as folder:
        packed = subprocess.run(
            ["git", "archive", commit or "none", "agent", "firmware", "pyproject.toml"],
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
