"""Runner of the external `lucid` program, with short time limits.

What it prints is hostile until parsed and capped here. After any failure it is left alone for a
while, so that a broken one costs a conversation nothing.
"""

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process

from msgspec import Struct

from agent.memory.base import CONVERSATION, CORE, DAILY
from agent.system.clock import Clock
from agent.text.printable import printable_line, printable_text

_log = logging.getLogger(__name__)

# A person waits for a recall; a store happens behind the conversation
RECALL_TIMEOUT_S = 0.5
STORE_TIMEOUT_S = 0.8
# After any failure
COOL_DOWN_S = 15.0
# It shows 200 characters of each memory; many times what a prompt takes
MAX_ANSWER_BYTES = 64 * 1024
MAX_FOUND = 20
# Linux takes no argument beyond 128 KiB; a character has up to four bytes
MAX_ARGUMENT_CHARS = 16 * 1024
# A killed process is gone at once, unless a disk holds it
_REAP_TIMEOUT_S = 1.0
# What it needs of our surroundings; keys and tokens stay with us
_ENVIRONMENT = ("HOME", "PATH", "LANG", "LC_ALL", "TMPDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
_BEGIN, _END = "<lucid-context>", "</lucid-context>"
_ITEM = re.compile(r"- \[([a-z_-]{1,40})\] (.+)")
_MAX_CONTENT_CHARS = 1000
_CATEGORIES = {
    "decision": CORE,
    "learning": CORE,
    "solution": CORE,
    "bug": DAILY,
    "context": CONVERSATION,
    "conversation": CONVERSATION,
}
_KINDS = {CORE: "decision", DAILY: "context", CONVERSATION: "context"}


class LucidMatch(Struct, frozen=True):
    """A memory that the program returned."""

    content: str
    category: str


class LucidTool:
    """The program, by name or path; every method is quick and raises none of its faults."""

    def __init__(self, program: str, clock: Clock) -> None:
        self._program = program
        self._clock = clock
        self._failed_at_s: float | None = None
        self.failure = ""

    @property
    def is_resting(self) -> bool:
        """True for a while after a failure; the tool is left alone then."""
        if self._failed_at_s is None:
            return False
        return self._clock.monotonic_s() < self._failed_at_s + COOL_DOWN_S

    async def context(self, query: str) -> list[LucidMatch]:
        """Return the tool's memories for the query; none while it rests."""
        answer = await self._run(RECALL_TIMEOUT_S, "context", _argument(query))
        if answer is None:
            return []
        if (found := parse(answer)) is None:
            self._fail("its output is no list of memories")
        return found or []

    async def store(self, content: str, category: str) -> bool:
        """Store a memory; return true if the tool accepted it."""
        kind = f"--type={_KINDS.get(category, 'learning')}"
        answer = await self._run(STORE_TIMEOUT_S, "store", _argument(content), kind)
        is_taken = answer is not None and _says_success(answer)
        if answer is not None and not is_taken:
            self._fail("it did not confirm the memory")
        return is_taken

    async def _run(self, timeout_s: float, *arguments: str) -> str | None:
        """Run the tool and return its output; after a failure return None and remember it."""
        if self.is_resting:
            return None
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._answer(arguments)
        except TimeoutError:
            self._fail(f"no answer in {timeout_s:g} s")
        except OSError as err:
            self._fail(f"it cannot be started: {err.strerror}")
        except _Misbehaved as err:
            self._fail(str(err))
        else:
            self._failed_at_s, self.failure = None, ""
            return answer
        return None

    async def _answer(self, arguments: tuple[str, ...]) -> str:
        process = await asyncio.create_subprocess_exec(
            self._program,
            *arguments,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            # What it starts ends with it
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            try:
                await process.stdout.readexactly(MAX_ANSWER_BYTES + 1)
            except asyncio.IncompleteReadError as whole:
                if status := await process.wait():
                    raise _Misbehaved(f"it ended with status {status}") from None
                return whole.partial.decode(errors="replace")
            raise _Misbehaved(f"it prints more than {MAX_ANSWER_BYTES} bytes")
        finally:
            await _end(process)

    def _fail(self, why: str) -> None:
        self._failed_at_s = self._clock.monotonic_s()
        self.failure = why
        _log.warning(
            "lucid: program failed (program=%s): %s; paused for %g s",
            self._program,
            why,
            COOL_DOWN_S,
        )


class _Misbehaved(Exception):
    """The program broke its protocol."""


def parse(answer: str) -> list[LucidMatch] | None:
    """Return the items between the first pair of marks; None for any other output.

    An item may go on over several lines; what stands before the first one is a summary.
    """
    if not answer.strip():
        return []
    _, begin, rest = answer.partition(_BEGIN)
    inside, end, _ = rest.partition(_END)
    if not (begin and end):
        return None
    items: list[tuple[str, list[str]]] = []
    for line in inside.splitlines():
        if match := _ITEM.fullmatch(line.strip()):
            items.append((match[1], [match[2]]))
        elif items:
            items[-1][1].append(line)
    found = [(kind, printable_line(" ".join(lines), _MAX_CONTENT_CHARS)) for kind, lines in items]
    return [
        LucidMatch(content.strip(), _CATEGORIES.get(kind, kind))
        for kind, content in found[:MAX_FOUND]
        if content.strip()
    ]


def _says_success(answer: str) -> bool:
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    return isinstance(said, dict) and said.get("success") is True


async def _end(process: Process) -> None:
    """Kill the process and everything it started; wait until it is gone."""
    assert process.stdout is not None
    if process.returncode is None or not process.stdout.at_eof():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REAP_TIMEOUT_S):
            # What was in the pipe goes with it
            while await process.stdout.read(MAX_ANSWER_BYTES):
                pass
            await process.wait()
    # Somebody who left the group may hold the other end for ever
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  # has no public way


def _argument(text: str) -> str:
    """Return text that a program can get as an argument."""
    return printable_text(text, MAX_ARGUMENT_CHARS)
