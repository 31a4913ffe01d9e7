"""One run of a program, its output piece by piece, under the limits of an answer."""

import asyncio
from collections.abc import AsyncGenerator

from msgspec.structs import replace

from agent.errors import SandboxBroken, TransientProviderError
from agent.providers.reader import Deadline, RequestTimeouts
from agent.security.sandbox.base import Sandbox, SandboxJob, SandboxOutcome

# After its answer a program saves what it likes to keep; then it is ended
FAREWELL_S = 2.0


class ProgramRun:
    """A program in its sandbox; closing `pieces` ends it with all that it started.

    Args:
        name: for people.
    """

    def __init__(self, name: str, sandbox: Sandbox, job: SandboxJob) -> None:
        self._name = name
        self._sandbox = sandbox
        self._job = job
        self._heard: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._task: asyncio.Task[SandboxOutcome] | None = None

    async def pieces(self, patience: RequestTimeouts) -> AsyncGenerator[bytes, None]:
        """Yield the output until the program is done.

        Raises:
            TransientProviderError: it is silent or at work for too long.
        """
        deadline = Deadline(patience.total_s)
        job = replace(self._job, heard=self._heard.put_nowait)
        self._task = asyncio.create_task(self._sandbox.run(job))
        self._task.add_done_callback(lambda _: self._heard.put_nowait(None))
        limit_s = patience.first_byte_s
        try:
            while (piece := await self._next(limit_s, deadline)) is not None:
                limit_s = patience.between_bytes_s
                yield piece
        finally:
            # Cancelled, the sandbox ends the program with all that it started
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.exception()

    async def leave(self) -> None:
        """Give a program that has answered the time to end by itself."""
        assert self._task is not None
        await asyncio.wait([self._task], timeout=FAREWELL_S)

    def outcome(self) -> SandboxOutcome:
        """Return how it ended, after `pieces`.

        Raises:
            TransientProviderError: the sandbox does not work.
        """
        assert self._task is not None
        try:
            return self._task.result()
        except SandboxBroken as err:
            raise TransientProviderError(f"{self._name} cannot run: {err}") from err

    async def _next(self, limit_s: float, deadline: Deadline) -> bytes | None:
        left_s = deadline.left_s()
        try:
            async with asyncio.timeout(min(limit_s, left_s)):
                return await self._heard.get()
        except TimeoutError:
            deadline.left_s()
            raise TransientProviderError(f"{self._name} was silent for {limit_s:.0f} s") from None
