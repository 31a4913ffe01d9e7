"""Browsers that come and go at random, for the console's bench: what is left of them."""

import asyncio
import contextlib
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path

import msgspec

from agent.console.agent_client import MOST_KEPT
from agent.console.conversation import LINGER_S
from agent.console.server import IDLE_END_S
from scripts.lib.console_parts import WholeConsole, environ, rss_kib
from scripts.lib.setup import ROOT
from tests.fakes.browser import Browser
from tests.fakes.irc_server import free_port

BROWSERS = 20
# What the first ones load, before it is looked whether more is held after others
_WARM_S = 10.0
# How many times the memory is looked at, to see whether it grows all the time
_LOOKS = 10
_TO_AGENT = "connection to the agent"
# Ends of the pair that wakes its loop
_LOOPS_OWN = 2
# Beyond the idle end: systemd starts it, and it looks at its own idleness every few seconds
_END_SPARE_S = 30.0


class Crowd(msgspec.Struct, frozen=True):
    """Memory of the console before and while browsers come and go, and what they left behind.

    Args:
        refused: visits that a busy console put off; a page asks again.
        left: kinds of files and connections that the console has more than before.
    """

    before_kib: int
    looks_kib: Sequence[int]
    visits: int
    refused: int
    left: Mapping[str, int]

    @property
    def more_kib(self) -> int:
        return self.looks_kib[-1] - self.before_kib


def open_files(pid: int) -> Counter[str]:
    """Return the files and connections that a process holds, by their kinds.

    Connections to the agent are kept for the next question, up to a number: those are not counted.
    """
    local = {line.split()[6] for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()}
    found: Counter[str] = Counter()
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        # One that was closed meanwhile
        with contextlib.suppress(FileNotFoundError):
            kind, _, number = handle.readlink().as_posix().partition("[")
            found[_TO_AGENT if number.removesuffix("]") in local else kind] += 1
    found[_TO_AGENT] = max(0, found[_TO_AGENT] - MOST_KEPT - _LOOPS_OWN)
    return +found


async def crowd(
    whole: WholeConsole, people: Sequence[Browser], for_s: float, open_before: Counter[str]
) -> Crowd:
    """Have 20 browsers open and leave pages for a while, each from an address of its own."""
    assert whole.console is not None
    pid = whole.console.pid
    await _come_and_go(whole, people, min(for_s, _WARM_S))
    before_kib, looks = rss_kib(pid), []
    counts: Counter[str] = Counter()
    for _ in range(_LOOKS):
        counts += await _come_and_go(whole, people, for_s / _LOOKS)
        looks.append(rss_kib(pid))
    left = await _left(pid, open_before)
    return Crowd(before_kib, looks, counts["visits"], counts["refused"], left)


async def _come_and_go(
    whole: WholeConsole, people: Sequence[Browser], for_s: float
) -> Counter[str]:
    ends_s = time.monotonic() + for_s
    counts: Counter[str] = Counter()

    async def come_and_go(number: int) -> None:
        browser = Browser(whole.base, f"127.0.1.{number + 1}")
        browser.cookies = people[number % len(people)].cookies
        while time.monotonic() < ends_s:
            page = random.choice(("board", "home", "chat"))  # noqa: S311 - not a secret
            events, writer = await browser.open(page)
            try:
                await events.until("home" if page != "board" else "pin-0-led")
                counts["visits"] += 1
            except (EOFError, TimeoutError):
                counts["refused"] += 1
            await asyncio.sleep(random.uniform(0, 2))  # noqa: S311 - as above
            writer.close()

    await asyncio.gather(*map(come_and_go, range(BROWSERS)))
    return counts


async def _left(pid: int, open_before: Counter[str]) -> Counter[str]:
    """Return what the console holds of browsers that have gone: their and the agent's ends."""
    for _ in range(int(LINGER_S) + 40):
        if not (left := open_files(pid) - open_before):
            break
        await asyncio.sleep(1)
    return left


async def closed_kib(whole: WholeConsole) -> int | None:
    """Return the memory of a console that systemd started, ten minutes after its last page.

    None where the program of systemd that hands a socket over is missing.
    """
    program = shutil.which("systemd-socket-activate")
    if program is None:
        return None
    address = f"127.0.0.1:{free_port()}"
    variables = [f"--setenv={name}" for name in ("HOME", "BARNACLE_CONFIG", "BARNACLE_STATE_DIR")]
    console = [sys.executable, "-m", "agent.cli.main", "console"]
    process = await asyncio.create_subprocess_exec(
        program,
        *(f"--listen={address}", *variables, *console),
        cwd=ROOT,
        env=environ(whole.folder),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await _served(Browser(f"http://{address}"))
        async with asyncio.timeout(IDLE_END_S + _END_SPARE_S):
            await process.wait()
    except TimeoutError:
        return rss_kib(process.pid)
    else:
        return 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _served(browser: Browser) -> None:
    """Return as soon as the page of the door is there."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            if (await browser.get("/")).status == HTTPStatus.UNAUTHORIZED:
                return
        await asyncio.sleep(0.2)
    raise AssertionError("systemd's socket did not start the console")
