"""First start in the owner's browser: the questions of `barnacle setup`, one at a time.

A program of its own asks and tries out; typed secrets are its alone, and no page shows them.
"""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from agent.access.people import Person
from agent.app.build import Agent
from agent.app.console.setup_lines import MAX_LINE_BYTES, SetupEnd, SetupLine, is_first
from agent.config import Secret
from agent.errors import BadArguments, StorageFull
from agent.security.environment import own_environment

_log = logging.getLogger(__name__)

# Somebody looks for a token at another service meanwhile; then what was typed is let go
WHOLE_S = 45 * 60.0
# A key is tried out at its service; a slow card loads what that needs
STEP_S = 60.0
_PROGRAM = "agent.provision.browser_setup"
_MOST_STEPS = 300
_HIDDEN = "•" * 8


class _Asking:
    """One run of the program, which belongs to the browser that began it."""

    def __init__(self, browser: str, process: asyncio.subprocess.Process) -> None:
        self.browser = browser
        self.process = process
        self.steps: list[dict[str, str]] = []
        self.asked: SetupLine | None = None
        self.number = 0
        self.end: SetupEnd | None = None
        # Set while the program waits for a word, or has ended
        self.waits = asyncio.Event()

    async def run(self) -> None:
        """Hear the program until it ends."""
        out = self.process.stdout
        assert out is not None
        try:
            async with asyncio.timeout(WHOLE_S):
                while line := await out.readline():
                    self._hear(msgspec.json.decode(line, type=SetupLine))
        except (TimeoutError, ValueError) as err:
            # What is no line of ours ends it as well
            _log.warning("first start: questions ended (reason=%s)", type(err).__name__)
        finally:
            if self.process.returncode is None:
                self.process.kill()
            await self.process.wait()
            self.asked, self.end = None, self.end or SetupEnd.LEFT
            self.waits.set()

    async def answer(self, text: str) -> None:
        """Send an answer, and wait for what comes of it."""
        asked, way = self.asked, self.process.stdin
        assert asked is not None
        assert way is not None
        self._note("answered", _HIDDEN if asked.is_secret and text else text or asked.usual)
        self.asked = None
        self.waits.clear()
        with contextlib.suppress(ConnectionError):
            way.write(msgspec.json.encode(text) + b"\n")
            await way.drain()
        await self.settled()

    async def settled(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STEP_S):
                await self.waits.wait()

    def _hear(self, line: SetupLine) -> None:
        if line.said:
            self._note("said", line.said)
        if line.asked:
            self.asked = line
            self.number += 1
            self._note("asked", line.asked)
            self.waits.set()
        if line.ended is not None:
            self.end = line.ended

    def _note(self, kind: str, text: str) -> None:
        if len(self.steps) < _MOST_STEPS:
            self.steps.append({"kind": kind, "text": text})


class FirstStart:
    """The page of the first start; one browser at a time is asked."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._asking: _Asking | None = None
        self._one_at_a_time = asyncio.Lock()
        self._hearing: set[asyncio.Task[None]] = set()

    async def read(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return what was said so far, and the question that is open."""
        config = self._agent.paths.config
        is_open = await asyncio.to_thread(is_first, config)
        asking = self._asking
        told: dict[str, Any] = {
            "is_open": is_open,
            "is_elsewhere": False,
            "end": "",
            "steps": [],
            "asked": None,
            "number": 0,
        }
        if asking is None or not is_open:
            return told
        if asking.browser != arguments["browser"]:
            return {**told, "is_elsewhere": asking.end is None}
        redact = self._agent.redactor.redact
        steps = [{**step, "text": redact(step["text"])} for step in asking.steps]
        asked = None if asking.asked is None else msgspec.to_builtins(asking.asked)
        end = "" if asking.end is None else asking.end.value
        return {**told, "steps": steps, "asked": asked, "number": asking.number, "end": end}

    async def begin(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Begin the questions, anew where they were begun before."""
        async with self._one_at_a_time:
            config = self._agent.paths.config
            if not await asyncio.to_thread(is_first, config):
                raise BadArguments("this device is set up already")
            await self._leave()
            words = [] if config is None else [str(config)]
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-m", _PROGRAM, *words),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=MAX_LINE_BYTES,
                env=own_environment(os.environ),
            )
            asking = self._asking = _Asking(arguments["browser"], process)
            task = asyncio.create_task(asking.run())
            self._hearing.add(task)
            task.add_done_callback(self._hearing.discard)
            assert process.stdin is not None
            # Another program's environment can be read by all of its user
            process.stdin.write(msgspec.json.encode(dict(os.environ)) + b"\n")
            await asking.settled()
        return await self.read(person, arguments)

    async def answer(self, person: Person, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Answer the open question; one that was answered meanwhile is not answered twice."""
        async with self._one_at_a_time:
            asking = self._asking
            if asking is None or asking.browser != arguments["browser"] or asking.asked is None:
                return await self.read(person, arguments)
            asked, text = asking.asked, arguments.get("answer", "").replace("\r\n", "\n").strip()
            if arguments.get("number") != str(asking.number):
                return await self.read(person, arguments)
            if asked.is_secret and text.isprintable() and text:
                self._agent.redactor.add(Secret(text))
            is_written = asked.is_last and (text or asked.usual).startswith("y")
            if is_written:
                await self._note(person, asked, verdict="allow")
            await asking.answer(text)
            if is_written:
                await self._note(person, asked, ok=asking.end is SetupEnd.KEPT)
        return await self.read(person, arguments)

    async def _note(self, person: Person, asked: SetupLine, **came: str | bool) -> None:
        """Put the owner's word, or what came of it, into the audit log."""
        about = ", ".join(asked.about)
        row: dict[str, Any] = {"tool": "setup", "effect": "write", "person": person.name}
        if "verdict" in came:
            row |= {"kind": "decision", "rule": "owner's console", "arguments": about}
            await self._agent.records.note({**row, **came})
            return
        try:
            await self._agent.records.note({**row, "kind": "effect", "result": about, **came})
        except StorageFull as err:
            _log.error("audit: result not recorded (tool=setup, error=%s)", err)

    async def _leave(self) -> None:
        if (asking := self._asking) is not None and asking.process.returncode is None:
            asking.process.kill()
            await asking.waits.wait()
            await asking.process.wait()
