"""Sandbox of systemd: one unit for each job, started by a connection to its socket.

The unit has no devices, a system it can only read, and the workspace or a home; whether it has the
network is the unit's, so a job that needs it goes to another socket. What the job reads and writes
is passed as open descriptors. Closing the connection ends the job.
"""

import asyncio
import contextlib
import json
import socket
from contextlib import ExitStack
from io import FileIO
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agent.errors import SandboxBroken
from agent.security.sandbox.base import SandboxJob, SandboxOutcome, limited
from agent.security.sandbox.disk import DiskGuard, refuse_foreign_names
from agent.security.sandbox.runner import MAX_REQUEST_BYTES
from agent.security.sandbox.streams import END_TIMEOUT_S, Captured, opened, outcome_of, pipe

# Where systemd/barnacle-tool.socket listens
SOCKET = Path("/run/barnacle-tool/socket")
# A unit starts within it on the smallest Pi under load
START_TIMEOUT_S = 20.0
_MAX_ANSWER_BYTES = 4096
_LOST = "it exceeded its limit of memory or time"


class _Answer(msgspec.Struct, frozen=True):
    """The runner's answer; without a status it has the reason."""

    exit: int | None = None
    error: str = ""


class SystemdSandbox:
    """Runs programs in their own units."""

    name = "systemd"

    def __init__(self, workspace: Path, address: Path = SOCKET) -> None:
        self._workspace = workspace.absolute()
        self._address = address

    async def run(self, job: SandboxJob) -> SandboxOutcome:
        line = self._request(job)
        if job.folder is not None:
            await asyncio.to_thread(refuse_foreign_names, self._workspace)
        # A home is made by its unit, on the disk of the folder around it
        home = None if job.home is None else job.home.parent
        written = self._workspace if job.writes else home
        room = DiskGuard(written, lambda: None, is_counted=job.writes)
        room.begin()
        with ExitStack() as held:
            connection = held.enter_context(socket.socket(socket.AF_UNIX))
            connection.setblocking(False)  # noqa: FBT003 - the name of the parameter is its own
            given = held.enter_context(opened(job.given))
            out, out_end = (held.enter_context(file) for file in pipe())
            err, err_end = (held.enter_context(file) for file in pipe())
            try:
                async with asyncio.timeout(START_TIMEOUT_S):
                    await asyncio.get_running_loop().sock_connect(connection, str(self._address))
                streams = [given, out_end.fileno(), err_end.fileno()]
                socket.send_fds(connection, [line], streams)
            except (OSError, TimeoutError) as error:
                raise SandboxBroken(f"the sandbox cannot be reached: {error}") from error
            # Only the job holds them now: their end is its end
            out_end.close()
            err_end.close()
            return await _watched(connection, out, err, job, room)

    def _request(self, job: SandboxJob) -> bytes:
        folder = str(job.home or "/") if job.folder is None else str(self._workspace / job.folder)
        asked = {"argv": limited(job), "environment": dict(job.environment), "folder": folder}
        line = json.dumps(asked).encode() + b"\n"
        if len(line) > MAX_REQUEST_BYTES:
            raise SandboxBroken("the command is too long for the sandbox")
        return line


async def _watched(
    connection: socket.socket, out: FileIO, err: FileIO, job: SandboxJob, room: DiskGuard
) -> SandboxOutcome:
    """Read both streams and the answer until the job is done or over a limit."""
    loop = asyncio.get_running_loop()
    late = False

    def end() -> None:
        # The runner sees it, ends the job and answers all the same
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_WR)

    def end_late() -> None:
        nonlocal late
        late = True
        end()

    room.end = end
    told = Captured(job.stream_bytes, end, heard=job.heard)
    trouble = Captured(job.stream_bytes, end)
    deadline = loop.call_later(job.timeout_s, end_late)
    most_s = job.timeout_s + START_TIMEOUT_S + END_TIMEOUT_S
    try:
        async with asyncio.timeout(most_s), asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(room.watch())
            reading = [tasks.create_task(told.read(out)), tasks.create_task(trouble.read(err))]
            answer = tasks.create_task(loop.sock_recv(connection, _MAX_ANSWER_BYTES))
            await asyncio.wait([*reading, answer])
            watching.cancel()
    except TimeoutError as error:
        raise SandboxBroken("the sandbox could not end its program") from error
    finally:
        deadline.cancel()
    is_ended = late or told.truncated or trouble.truncated or room.overrun
    status = None if is_ended else _status(answer.result())
    outcome = outcome_of(status, told, trouble, job.timeout_s if late else None, room.overrun)
    return outcome if outcome.ended or status is not None else replace(outcome, ended=_LOST)


def _status(answer: bytes) -> int | None:
    """Return the job's exit status; None if the whole unit was ended.

    Raises:
        SandboxBroken: in the runner's words.
    """
    if not answer:
        return None
    try:
        told = msgspec.json.decode(answer, type=_Answer)
    except msgspec.DecodeError as error:
        raise SandboxBroken("the sandbox gave an invalid answer") from error
    if told.exit is None:
        raise SandboxBroken(f"the sandbox refuses: {told.error}")
    return told.exit
