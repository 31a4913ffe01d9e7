"""A local process within limits, watched to its end; bubblewrap is one too.

`LimitedProcess` keeps nothing apart. It is only for our own programs that read documents, where
there is no sandbox; tools never get it.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

from agent.errors import SandboxBroken
from agent.security.sandbox.base import SandboxJob, SandboxOutcome, limited
from agent.security.sandbox.disk import DiskGuard
from agent.security.sandbox.streams import END_TIMEOUT_S, Captured, opened, outcome_of, pipe


class LimitedProcess:
    """Runs a child with little memory and time, no environment and no descriptors of ours."""

    name = "a process with limits"

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        return await run_here(limited(job), job)


async def run_here(
    command: Sequence[str], job: SandboxJob, writes_in: Path | None = None
) -> SandboxOutcome:
    """Start the command for the job, and watch it.

    Args:
        writes_in: the folder that it may fill, as far as there is room.

    Raises:
        SandboxBroken: it cannot be started, or cannot be ended.
    """
    room = DiskGuard(writes_in, lambda: None, is_counted=job.writes)
    room.begin()
    with ExitStack() as held:
        given = held.enter_context(opened(job.given))
        out, out_end = (held.enter_context(file) for file in pipe())
        err, err_end = (held.enter_context(file) for file in pipe())
        try:
            child = await asyncio.create_subprocess_exec(
                *command,
                stdin=given,
                stdout=out_end,
                stderr=err_end,
                env=dict(job.environment),
                # A group of its own, which is ended as one
                start_new_session=True,
            )
        except OSError as error:
            raise SandboxBroken(f"the sandbox cannot be started: {error.strerror}") from error
        # Only the child holds them now: its end is theirs
        out_end.close()
        err_end.close()
        return await _watched(child, out, err, job, room)


async def _watched(
    child: asyncio.subprocess.Process, out: FileIO, err: FileIO, job: SandboxJob, room: DiskGuard
) -> SandboxOutcome:
    """Read both streams until the program is done or over a limit."""
    late = False

    def end() -> None:
        # Once it is gone its number may be another's
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)

    def end_late() -> None:
        nonlocal late
        late = True
        end()

    room.end = end
    told = Captured(job.stream_bytes, end, heard=job.heard)
    trouble = Captured(job.stream_bytes, end)
    deadline = asyncio.get_running_loop().call_later(job.timeout_s, end_late)
    try:
        async with asyncio.timeout(job.timeout_s + END_TIMEOUT_S), asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(room.watch())
            reading = [tasks.create_task(told.read(out)), tasks.create_task(trouble.read(err))]
            await asyncio.wait([*reading, tasks.create_task(child.wait())])
            watching.cancel()
    except TimeoutError as error:
        raise SandboxBroken("the sandbox could not end its program") from error
    finally:
        deadline.cancel()
        end()
        await child.wait()
    return outcome_of(
        child.returncode, told, trouble, job.timeout_s if late else None, room.overrun
    )
