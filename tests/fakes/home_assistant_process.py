"""The real Home Assistant on a port of this machine, with a few entities."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.irc_server import free_port
from tests.waits import PATIENCE_S

_ROOT = Path(__file__).resolve().parents[2]
# Where scripts/test puts it
_INSTALLED = _ROOT / ".barnacle" / "home-assistant"
# Of the one that it was installed with, which may be newer than ours
_PYTHON = _INSTALLED / "python"
# It loads thousands of modules, beside other tests
_START_S = 240.0
_PROGRAM = _ROOT / "tests" / "oracles" / "home_assistant"


@cache
def absence() -> str:
    """Return why it cannot run here; empty where it can."""
    if (_INSTALLED / "homeassistant").is_dir() and _PYTHON.exists():
        return ""
    return f"Home Assistant is not in {_INSTALLED}: run scripts/test beside a Python 3.13"


@dataclass
class HomeAssistantProcess:
    """Home Assistant at work."""

    url: str
    token: str
    plain_token: str
    _process: asyncio.subprocess.Process

    async def say(self, port: int, text: str, conversation: str | None = None) -> dict[str, Any]:
        """Return the answer of the Wyoming server at a port, as Home Assistant understands it."""
        return await self._done("say", port=port, text=text, talk=conversation)

    async def problems(self, messages: Mapping[str, object]) -> dict[str, Any]:
        """Return what its own schemas find wrong with discovery messages, by topic."""
        return await self._done("validate", messages=messages)

    async def join(self, port: int) -> None:
        """Have it use the broker at a port."""
        told = await self._done("join", port=port)
        assert told["is_loaded"], "Home Assistant is not at the broker"

    async def entities(self) -> dict[str, Any]:
        """Return the entities that came by MQTT: kind and name, and what each is."""
        return await self._done("look")

    async def call(self, domain: str, service: str, **data: object) -> None:
        """Call a service of its own."""
        await self._done("call", domain=domain, service=service, data=data)

    async def _done(self, step: str, **wanted: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": step, **wanted}).encode() + b"\n")
        return await _told(self._process)


@contextlib.asynccontextmanager
async def home_assistant(folder: Path) -> AsyncIterator[HomeAssistantProcess]:
    """A Home Assistant of one's own; the test is skipped where there is none."""
    if absence():
        pytest.skip(absence())
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    port = free_port()
    with (folder / "log").open("wb") as log:
        # -S: what is installed for the agent is not its own
        process = await asyncio.create_subprocess_exec(
            *(
                _PYTHON.read_text().strip(),
                "-S",
                "-W",
                "ignore",
                str(_PROGRAM),
                str(folder),
                str(port),
            ),
            env={"PYTHONPATH": str(_INSTALLED), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    try:
        tokens = await _told(process, _START_S)
        url = f"http://127.0.0.1:{port}"
        yield HomeAssistantProcess(url, tokens["token"], tokens["plain_token"], process)
    finally:
        # One that has ended by itself says so where it was asked
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _told(
    process: asyncio.subprocess.Process, patience_s: float = PATIENCE_S
) -> dict[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(patience_s):
        line = await process.stdout.readline()
    assert line, "it has ended"
    told: dict[str, Any] = json.loads(line)
    return told
