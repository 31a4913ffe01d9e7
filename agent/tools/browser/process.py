"""A browser in its sandbox, from its start until nothing of it is left.

It has no network but the port of our proxy, a fixed environment, a profile in memory that is lost,
and limits of memory and time. Its end, whoever wants it, is the end of all that it started.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable
from io import FileIO
from pathlib import Path

from msgspec import Struct

from agent.errors import BrowserFailed, SandboxBroken
from agent.security.environment import LANG, PATH, SANDBOX_HOME
from agent.security.sandbox.base import Sandbox, SandboxJob, SandboxOutcome, SandboxRoom
from agent.text.printable import printable_line
from agent.tools.browser import launcher
from agent.tools.browser.devtools import MAX_MESSAGE_BYTES, DevTools
from agent.tools.browser.guard import Guard
from agent.tools.browser.proxy import FilteringProxy
from agent.tools.browser.traffic import Traffic
from agent.tools.web import Web

_log = logging.getLogger(__name__)

_MB = 1024 * 1024
# A Pi loads the program from its card
START_TIMEOUT_S = 40.0
# However it is used: a task with a page is done by then
LIFE_S = 900.0
# Of one process; a page that computes without end is over then
CPU_S = 120.0
# Shared memory of a page's pictures, and the profile
SCRATCH_BYTES = 96 * _MB
PROCESSES, FILES = 256, 2048
# How often free memory is looked at, and with how little of it the browser goes
WATCH_EVERY_S = 0.5
FLOOR_MB = 100
_SIZE = (1024, 768)
_SYSTEM = Path("/usr")
# Fonts, for text has none otherwise
_READS = (Path("/etc/fonts"),)
_OFF = (
    *("Reporting", "NetworkErrorLogging", "CrashReporting", "DocumentReporting", "MediaRouter"),
    *("OptimizationHints", "Translate", "AutofillServerCommunication", "Prerender2", "WebRtc"),
    *("CertificateTransparencyComponentUpdater", "InterestFeedContentSuggestions"),
    *("site-per-process", "IsolateOrigins", "DialMediaRouteProvider", "ServiceWorker"),
)
# Our sandbox is the wall: its own needs rights that nothing in there has
WORDS = (
    *("--headless", "--no-sandbox", "--remote-debugging-pipe", "--no-zygote", "--disable-gpu"),
    *("--no-first-run", "--no-default-browser-check", "--no-pings", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-default-apps", "--disable-extensions", "--disable-breakpad", "--disable-logging"),
    *("--disable-domain-reliability", "--disable-client-side-phishing-detection"),
    *("--disable-component-extensions-with-background-pages", "--disable-site-isolation-trials"),
    *("--disable-search-engine-choice-screen", "--disable-field-trial-config", "--disable-webgl"),
    *("--deny-permission-prompts", "--block-new-web-contents"),
    *("--disable-remote-fonts", "--disable-3d-apis", "--disable-notifications", "--incognito"),
    *("--password-store=basic", "--use-mock-keychain", "--force-webrtc-ip-handling-policy"),
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--in-process-gpu",
    *("--renderer-process-limit=1", "--disk-cache-size=1048576", "--media-cache-size=1"),
    # Names are the proxy's to look up, those of this machine, too
    *(
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ),
    *(f"--disable-features={','.join(_OFF)}", f"--window-size={_SIZE[0]},{_SIZE[1]}"),
    f"--user-data-dir={SANDBOX_HOME}/profile",
    "about:blank",
)


class BrowserSetup(Struct, frozen=True):
    """Program of a browser, its place, and the web that it may see.

    Args:
        free_mb: how much memory this machine has left.
    """

    program: str
    sandbox: Sandbox
    web: Web
    memory_mb: int
    free_mb: Callable[[], int]


class BrowserProcess:
    """One browser; `close` it, whatever happened."""

    def __init__(self, setup: BrowserSetup) -> None:
        self._setup = setup
        self.traffic = Traffic(setup.web)
        self.guard = Guard(self.traffic)
        self.proxy = FilteringProxy(setup.web, self.traffic)
        self._running: asyncio.Task[SandboxOutcome] | None = None
        self._helpers: list[asyncio.Task[None]] = []
        self._tools: DevTools | None = None
        # Whoever takes one over closes it as well; a start that is cut short leaves them to us
        self._sockets: list[socket.socket] = []
        self.end_reason = ""

    @property
    def tools(self) -> DevTools:
        assert self._tools is not None
        return self._tools

    @property
    def is_alive(self) -> bool:
        return self._running is not None and not self._running.done()

    @property
    def is_usable(self) -> bool:
        """Return true if the next call may use it."""
        return self.is_alive and self._tools is not None and not self._tools.is_closed

    async def start(self) -> None:
        """Start it and open its page.

        Raises:
            BrowserFailed: it does not start.
        """
        ours, theirs = socket.socketpair()
        self._sockets.append(ours)
        ours.setblocking(False)  # noqa: FBT003 - the name of the parameter is its own
        with FileIO(theirs.detach(), "r+") as given:
            self._running = asyncio.create_task(self._setup.sandbox.run(self._job(given)))
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    door = await self._door(ours)
                    # Only the browser holds it now: its end is the connection's end
                    given.close()
                    await self.proxy.serve(door)
                    await self._lead(ours)
            except TimeoutError as err:
                raise BrowserFailed(
                    f"the browser did not start within {START_TIMEOUT_S:.0f} s"
                ) from err

    async def close(self) -> None:
        """End it, and wait until it is gone."""
        if self._tools is not None:
            self._tools.close()
        await self.proxy.aclose()
        tasks = [*self._helpers, *([self._running] if self._running else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()
        for one in self._sockets:
            one.close()

    def _job(self, given: FileIO) -> SandboxJob:
        places = (Path(sys.prefix), Path(sys.base_prefix), Path(launcher.__file__).absolute())
        needs = [one for one in (*places, *_READS) if not one.is_relative_to(_SYSTEM)]
        heap = f"--js-flags=--max-old-space-size={self._setup.memory_mb // 2}"
        words = (sys.executable, "-I", "-S", launcher.__file__, self._setup.program, *WORDS, heap)
        return SandboxJob(
            words,
            {"PATH": PATH, "LANG": LANG, "HOME": str(SANDBOX_HOME)},
            needs=[one for one in needs if one.exists()],
            given=given,
            file_bytes=SCRATCH_BYTES,
            timeout_s=LIFE_S,
            cpu_s=CPU_S * (os.cpu_count() or 1),
            memory_bytes=self._setup.memory_mb * _MB,
            room=SandboxRoom(PROCESSES, FILES, SCRATCH_BYTES, maps_freely=True),
        )

    async def _door(self, control: socket.socket) -> socket.socket:
        """Return the port that the launcher hands over."""
        assert self._running is not None
        handed = asyncio.create_task(self._received(control))
        try:
            await asyncio.wait({handed, self._running}, return_when=asyncio.FIRST_COMPLETED)
            if handed.done() and (door := handed.result()) is not None:
                return door
        finally:
            handed.cancel()
        raise BrowserFailed(f"the browser did not start: {await self._complaint()}")

    async def _received(self, control: socket.socket) -> socket.socket | None:
        """Return the socket that comes first; None if the other end is gone."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(control, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(control)
        _, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not handles:
            return None
        door = socket.socket(fileno=handles[0])
        self._sockets.append(door)
        door.setblocking(False)  # noqa: FBT003 - the name of the parameter is its own
        return door

    async def _complaint(self) -> str:
        assert self._running is not None
        try:
            outcome = await self._running
        except SandboxBroken as err:
            return str(err)
        lines = outcome.stderr.decode(errors="replace").strip().splitlines()
        return printable_line(lines[-1], 200) if lines else outcome.ended or "it ended at once"

    async def _lead(self, control: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=control, limit=MAX_MESSAGE_BYTES)
        self._tools = self.guard.tools = DevTools(reader, writer, self.guard.hear)
        self._helpers = [
            asyncio.create_task(self._tools.listen()),
            asyncio.create_task(self._watch_memory()),
        ]
        await self.guard.begin()

    async def _watch_memory(self) -> None:
        """End the browser before this machine has no memory left."""
        while (free_mb := self._setup.free_mb()) >= FLOOR_MB:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(WATCH_EVERY_S)
        self.end_reason = f"this machine had only {free_mb} MB of memory left"
        _log.warning("browser: ended (free_mb=%d)", free_mb)
        if self._running is not None:
            self._running.cancel()
        self.tools.close()
