"""What is said when the runner or the unit around it does not do its part, and the unit itself."""

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.errors import SandboxBroken
from agent.security.sandbox import systemd as sandbox_systemd
from agent.security.sandbox.base import SandboxJob, SandboxOutcome
from agent.security.sandbox.systemd import SystemdSandbox
from agent.tools.mcp.confinement import SOCKET, UNITS_HOME
from tests.fakes.sandbox import activated, no_activation

UNITS = Path(__file__).parents[3] / "systemd"
# Of ten, where less is better
MOST_EXPOSED = 0.5
JOB = SandboxJob(("true",), {"PATH": "/usr/bin:/bin"})
ANALYZE = shutil.which("systemd-analyze") or ""

needs_activation = pytest.mark.skipif(bool(no_activation()), reason=no_activation())
needs_analyze = pytest.mark.skipif(not ANALYZE, reason="systemd-analyze is not installed")


@contextmanager
def answering(address: Path, answer: bytes) -> Iterator[SystemdSandbox]:
    """In the place of the runner: says something else, and forgets the streams."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()

        async def serve() -> None:
            server.setblocking(False)  # noqa: FBT003 - the name of the parameter is its own
            connection, _ = await asyncio.get_running_loop().sock_accept(server)
            with connection:
                await asyncio.get_running_loop().sock_recv(connection, 65536)
                if answer:
                    await asyncio.get_running_loop().sock_sendall(connection, answer)

        serving = asyncio.ensure_future(serve())
        yield SystemdSandbox(address.parent, address)
        serving.cancel()


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (b'{"error":"too old"}\n', "refuses: too old"),
        (b"no JSON\n", "gave an invalid answer"),
        (b'{"exit":"0"}\n', "gave an invalid answer"),
    ],
)
async def test_an_answer_that_is_none_is_no_success(
    tmp_path: Path, answer: bytes, complaint: str
) -> None:
    with (
        answering(tmp_path / "s", answer) as sandbox,
        pytest.raises(SandboxBroken, match=complaint),
    ):
        await sandbox.run(JOB)


async def test_a_unit_that_was_ended_took_too_much(tmp_path: Path) -> None:
    with answering(tmp_path / "s", b"") as sandbox:
        done = await sandbox.run(JOB)
    assert done == SandboxOutcome(None, b"", b"", ended="it exceeded its limit of memory or time")


async def test_without_a_socket_nothing_is_run(tmp_path: Path) -> None:
    with pytest.raises(SandboxBroken, match="cannot be reached"):
        await SystemdSandbox(tmp_path, tmp_path / "nothing").run(JOB)


async def test_a_runner_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("START_TIMEOUT_S", "END_TIMEOUT_S"):
        monkeypatch.setattr(sandbox_systemd, limit, 0.1)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "s"))
        deaf.listen()
        job = SandboxJob(("true",), {}, timeout_s=0.1)
        with pytest.raises(SandboxBroken, match="could not end"):
            await SystemdSandbox(tmp_path, tmp_path / "s").run(job)


async def test_a_job_that_is_too_long_is_refused_here(tmp_path: Path) -> None:
    with pytest.raises(SandboxBroken, match="too long"):
        await SystemdSandbox(tmp_path).run(SandboxJob(("echo", "x" * 70_000)))


@needs_activation
async def test_a_job_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    with activated(tmp_path / "s"), pytest.raises(SandboxBroken, match="cannot be started"):
        await SystemdSandbox(tmp_path, tmp_path / "s").run(SandboxJob(("true",), {}, "nowhere"))


@needs_activation
async def test_the_runner_refuses_where_it_has_no_processes_of_its_own(tmp_path: Path) -> None:
    sandbox = SystemdSandbox(tmp_path, tmp_path / "s")
    refusal = "sees other processes"
    with activated(tmp_path / "s", "--alone"), pytest.raises(SandboxBroken, match=refusal):
        await sandbox.run(JOB)


@needs_activation
@pytest.mark.parametrize(
    "request_line",
    [
        *(b"\n", b"{}\n", b"[]\n", b'{"argv":[]}\n', b"cut off", b"\xff\n"),
        json.dumps({"argv": [], "environment": {}, "folder": "/"}).encode() + b"\n",
        json.dumps({"argv": ["/bin/true"], "environment": [], "folder": "/"}).encode() + b"\n",
        json.dumps({"argv": ["/bin/true"], "environment": {}, "folder": "/"}).encode() + b"\n",
    ],
)
def test_a_request_that_is_none_is_refused(tmp_path: Path, request_line: bytes) -> None:
    """The last is whole but hands no streams over."""
    with activated(tmp_path / "s"), socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(tmp_path / "s"))
        client.sendall(request_line)
        client.shutdown(socket.SHUT_WR)
        assert b"the request is invalid" in client.recv(4096)


ONES = (
    *("barnacle-tool", "barnacle-mcp", "barnacle-program", "barnacle-program-online"),
    "barnacle-browser",
)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Copies whose program exists here."""
    for unit in (f"{one}{end}" for one in ONES for end in (".socket", "@.service")):
        text = (UNITS / unit).read_text().replace("/opt/barnacle/bin/python", "/bin/true")
        (tmp_path / unit).write_text(text)
    return tmp_path


@needs_analyze
def test_the_unit_leaves_nearly_nothing_exposed(units: Path) -> None:
    command = [ANALYZE, "security", "--offline=true", str(units / "barnacle-tool@.service")]
    told = subprocess.run(command, capture_output=True, check=False, text=True).stdout
    found = re.search(r"Overall exposure level .*: ([0-9.]+)", told)
    assert found is not None, told
    assert float(found[1]) <= MOST_EXPOSED


@needs_analyze
def test_systemd_understands_every_line(units: Path) -> None:
    files = [str(one) for one in sorted(units.iterdir())]
    told = subprocess.run([ANALYZE, "verify", *files], capture_output=True, check=False, text=True)
    complaints = [line for line in told.stderr.splitlines() if any(one in line for one in ONES)]
    # An older systemd than the device's does not know it, and then the runner refuses
    assert [line for line in complaints if "Unknown key 'PrivatePIDs'" not in line] == []


def test_the_unit_takes_and_shows_what_the_sandbox_promises() -> None:
    text = (UNITS / "barnacle-tool@.service").read_text()
    for line in (
        *("PrivateNetwork=yes", "PrivatePIDs=yes", "MemoryMax=64M", "TasksMax=64"),
        *("ProtectSystem=strict", "KillMode=control-group", "LimitCORE=0"),
        "BindPaths=/var/lib/barnacle/workspace",
    ):
        assert f"\n{line}\n" in text
    assert "agent.security.sandbox.runner --alone\n" in text
    listening = f"\nListenStream={sandbox_systemd.SOCKET}\n"
    assert listening in (UNITS / "barnacle-tool.socket").read_text()


def test_a_request_may_be_as_long_as_the_runner_reads_and_no_longer(tmp_path: Path) -> None:
    sandbox = SystemdSandbox(tmp_path)
    room = sandbox_systemd.MAX_REQUEST_BYTES - len(sandbox._request(SandboxJob(("true", ""))))
    assert (
        len(sandbox._request(SandboxJob(("true", "x" * room)))) == sandbox_systemd.MAX_REQUEST_BYTES
    )
    with pytest.raises(SandboxBroken, match="too long"):
        sandbox._request(SandboxJob(("true", "x" * (room + 1))))


@needs_analyze
@pytest.mark.parametrize("one", ONES[1:])
def test_the_unit_of_somebody_elses_program_leaves_little_exposed(units: Path, one: str) -> None:
    command = [ANALYZE, "security", "--offline=true", str(units / f"{one}@.service")]
    told = subprocess.run(command, capture_output=True, check=False, text=True).stdout
    found = re.search(r"Overall exposure level .*: ([0-9.]+)", told)
    assert found is not None, told
    assert float(found[1]) <= 2.0


def test_a_server_is_another_user_and_sees_nothing_of_the_agent() -> None:
    text = (UNITS / "barnacle-mcp@.service").read_text()
    for line in (
        "User=barnacle-mcp",
        "Group=barnacle-mcp",
        "LimitCORE=0",
        "TemporaryFileSystem=/run:ro",
    ):
        assert f"\n{line}\n" in text
    hidden = next(line for line in text.splitlines() if line.startswith("InaccessiblePaths="))
    assert {"-/var/lib/barnacle", "-/etc/barnacle"} <= set(hidden.partition("=")[2].split())
    assert f"\nStateDirectory={UNITS_HOME.name}\n" in text
    assert f"\nListenStream={SOCKET}\n" in (UNITS / "barnacle-mcp.socket").read_text()


def test_a_start_is_waited_for_and_an_answer_is_short() -> None:
    assert (sandbox_systemd.START_TIMEOUT_S, sandbox_systemd._MAX_ANSWER_BYTES) == (20.0, 4096)


@pytest.mark.parametrize("stream", [0, 1, 2])
async def test_what_was_ended_is_told_whatever_the_runner_says(tmp_path: Path, stream: int) -> None:
    """A runner that prints too much in one stream, or is late, and then says nonsense."""

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            _, handles, _, _ = socket.recv_fds(connection, 65536, 3)
            if stream:
                os.write(handles[stream], b"x" * 100)
            while connection.recv(65536):
                pass
            connection.sendall(b"no JSON\n")
            for handle in handles:
                os.close(handle)

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        serving = asyncio.create_task(asyncio.to_thread(serve, server))
        job = SandboxJob(("true",), {}, stream_bytes=10, timeout_s=5.0 if stream else 0.1)
        done = await SystemdSandbox(tmp_path, tmp_path / "s").run(job)
        await serving
    ended = "it printed too much" if stream else "it took longer than 0.1 s"
    assert (done.exit, done.ended) == (None, ended)
