"""The model services' own clients, each asked in a process of its own environment.

Nothing of theirs is loaded here: `scripts/test` installs them beside everything else.
"""

import asyncio
import base64
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agent.messages import ChatMessage, Effect, Image, Role, ToolCall
from agent.providers.base import ChatRequest
from tests.fakes.said import assistant_said, spec_of, system_said, tool_said, user_said, words

_ROOT = Path(__file__).resolve().parents[2]
INSTALLED = _ROOT / ".barnacle" / "oracles"
_PROGRAM = Path(__file__).parent / "sdk"
# Thousands of modules, from a cold disk beside other tests
_LIMIT_S = 50.0

_GET = ToolCall("call_a", "board_gpio_read", '{"pin":"button"}')
_INFO = ToolCall("call_b", "board_info", "{}")
_PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(250))).decode()
_PIN = {"type": "string", "enum": ["led", "button"], "description": "Which pin"}
TOOLS = (
    spec_of(
        "board_gpio_read",
        "Reads a pin.",
        {
            "type": "object",
            "properties": {"pin": _PIN, "count": {"type": "integer"}},
            "required": ["pin"],
        },
        Effect.READ,
    ),
    spec_of("board_info", "Says what it is.", {"type": "object", "properties": {}}, Effect.READ),
)
# Everything that a conversation can hold, as it is when a model is asked after its tools have run
MESSAGES = (
    system_said("Be brief. Kürze ist gut 💡"),
    ChatMessage(Role.USER, words("what is this?"), images=(Image("image/png", _PIXEL),)),
    assistant_said("A lamp."),
    user_said("is the button pressed?"),
    assistant_said("Ich sehe nach.", (_GET, _INFO)),
    tool_said(_GET, '{"pin":"button","value":"off"}'),
    tool_said(_INFO, "the board is not connected", is_error=True),
)
REQUEST = ChatRequest(MESSAGES, TOOLS)


@dataclass(frozen=True)
class Understood:
    """What a vendor's client made of an answer, and of the request that we sent."""

    problems: tuple[str, ...]
    text: str
    calls: tuple[tuple[str | None, str, object], ...]
    stop: str
    input_tokens: int
    output_tokens: int


@cache
def absence() -> str:
    """Why the clients cannot be asked here; empty where they can."""
    if (INSTALLED / "made-from").exists():
        return ""
    return f"the model services' own clients are not in {INSTALLED}: run scripts/test"


def needed() -> None:
    if absence():
        pytest.skip(absence())


async def asked(oracle: str, url: str, asking: Mapping[str, object]) -> Understood:
    """Let a client send the conversation to `url`; what it understood."""
    talk = {"url": url, "messages": [_plain(message) for message in MESSAGES], **asking}
    talk["tools"] = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in TOOLS
    ]
    return _understood(await told_by(oracle, talk))


async def told_by(oracle: str, talk: Mapping[str, object]) -> dict[str, Any]:
    """What a program of `sdk/` makes of a talk."""
    process = await _started(oracle)
    try:
        async with asyncio.timeout(_LIMIT_S):
            out, err = await process.communicate(json.dumps(talk).encode())
    finally:
        await _ended(process)
    assert process.returncode == 0, err.decode()[-2000:]
    told: dict[str, Any] = json.loads(out)
    return told


@dataclass(frozen=True)
class VendorClient:
    """Program of `sdk/` that goes on: one talk after another."""

    _process: asyncio.subprocess.Process

    async def ask(self, talk: Mapping[str, object], patience_s: float) -> dict[str, Any]:
        """What it makes of a talk."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(talk).encode() + b"\n")
        async with asyncio.timeout(patience_s):
            line = await self._process.stdout.readline()
        assert line, await self._complaint()
        told: dict[str, Any] = json.loads(line)
        return told

    async def _complaint(self) -> str:
        assert self._process.stderr is not None
        return (await self._process.stderr.read()).decode()[-2000:]


@contextlib.asynccontextmanager
async def talking(oracle: str) -> AsyncIterator[VendorClient]:
    """A program of `sdk/`, until the end of the block."""
    process = await _started(oracle, "--lines")
    try:
        yield VendorClient(process)
    finally:
        await _ended(process)


async def _started(oracle: str, *options: str) -> asyncio.subprocess.Process:
    # -S: what is installed for the agent is not theirs
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-S", "-W", "ignore", str(_PROGRAM), oracle, *options),
        env={"PYTHONPATH": str(INSTALLED), "PATH": "/usr/bin:/bin", "NO_PROXY": "127.0.0.1"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


def _understood(told: dict[str, Any]) -> Understood:
    calls = tuple((call_id, name, json.loads(text)) for call_id, name, text in told["calls"])
    counts = (told["input"], told["output"])
    return Understood(tuple(told["problems"]), told["text"], calls, told["stop"], *counts)


def _plain(message: ChatMessage) -> dict[str, object]:
    return {
        "role": message.role.value,
        "text": message.text,
        "images": [[image.media_type, image.data_base64] for image in message.images],
        "calls": [[call.call_id, call.name, call.arguments_json] for call in message.tool_calls],
        "id": message.call_id,
        "name": message.tool_name,
        "is_error": message.is_error,
    }
