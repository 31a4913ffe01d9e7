"""Wall around the console, for its bench: hostile requests, findings of axe-core, its unit."""

import asyncio
import contextlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from agent.console.guards import SESSION_COOKIE
from scripts.lib.console_browser import Trial, opened
from scripts.lib.console_parts import WholeConsole
from scripts.lib.console_trial import PAGES
from scripts.lib.setup import ROOT
from tests.fakes.browser import Browser
from tests.fakes.console_home import page_of
from tests.fakes.hostile_requests import filled, is_through, requests

SCHEMES = ("light", "dark")
_UNIT = "barnacle-console.service"
# An odd head is cut off after five seconds, a body after eight
_ANSWER_TIMEOUT_S = 20
_EXPOSURE = re.compile(r"Overall exposure level .*: ([0-9.]+)")


async def hostile(whole: WholeConsole, browser: Browser) -> tuple[int, list[str]]:
    """Return how many requests were sent, and what came of them that should not."""
    session, port = browser.cookies[SESSION_COOKIE], int(whole.base.rpartition(":")[2])
    every = list(requests())
    # Each comes from an address of its own, so that none is refused for its pace alone
    answers = [
        await _sent(port, f"127.0.3.{number}", filled(text, session, port))
        for number, (_, text) in enumerate(every, 1)
    ]
    through = [
        name
        for (name, _), page in zip(every, map(page_of, answers), strict=True)
        if is_through(page.status, page.text)
    ]
    home, chat = await browser.get("/"), await browser.get("/chat")
    if home.status != 200 or 'class="card alarm' in home.text:  # noqa: PLR2004 - OK
        through.append("the visitor was signed out, or everything stopped")
    if "bubble mine" in chat.text:
        through.append("something was said in the visitor's name")
    return len(every), through


async def _sent(port: int, source: str, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
    held = b""
    try:
        with contextlib.suppress(ConnectionError):
            writer.write(request)
            await writer.drain()
            async with asyncio.timeout(_ANSWER_TIMEOUT_S):
                while piece := await reader.read(65_536):
                    held += piece
    finally:
        writer.close()
    return held


def grave_findings(whole: WholeConsole) -> list[str]:
    """Return what axe-core calls serious or critical on any page, light and dark."""
    found = []
    with opened() as it:
        trial = Trial(whole, it.playwright, it.browser, it.axe, Path())
        for scheme in SCHEMES:
            page = trial.entered(color_scheme=scheme)
            for name in PAGES:
                page.goto(f"{whole.base}/{name}")
                found += [f"{scheme}: {one}" for one in trial.violations(page)]
    return found


def exposure() -> float | None:
    """Return systemd's figure for the console's unit; None where systemd is not."""
    program = shutil.which("systemd-analyze")
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="barnacle-unit-") as folder:
        unit = Path(folder, _UNIT)
        text = (ROOT / "systemd" / _UNIT).read_text()
        # The program of an installed service is not on this machine
        unit.write_text(re.sub(r"^(ExecStart=).*$", r"\1/bin/true", text, flags=re.MULTILINE))
        told = subprocess.run(
            [program, "security", "--offline=true", str(unit)],
            capture_output=True,
            check=False,
            text=True,
            timeout=_ANSWER_TIMEOUT_S,
        ).stdout
    found = _EXPOSURE.search(told)
    return float(found[1]) if found else None
