"""The runner in this process, for every branch of it; behind a real socket elsewhere."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.security.sandbox import runner as sandbox_runner
from agent.security.sandbox.runner import ALONE, BAD_REQUEST, NOT_ALONE, NOT_STARTED, main

TIMEOUT_S = 10.0


@dataclass
class Talk:
    """A connection with a runner at its other end."""

    client: socket.socket
    server: socket.socket
    statuses: list[int] = field(default_factory=list)

    def begin(self, *arguments: str) -> threading.Thread:
        def run() -> None:
            self.statuses.append(main(arguments, self.server))

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def asks(self, request: dict[str, object], out: int) -> None:
        with Path(os.devnull).open("rb") as nothing:
            line = json.dumps(request).encode() + b"\n"
            socket.send_fds(self.client, [line[:10]], [nothing.fileno(), out, out])
            # What is long comes in pieces
            self.client.sendall(line[10:])

    def answer(self) -> dict[str, object]:
        told = json.loads(self.client.recv(4096))
        assert isinstance(told, dict)
        return told


@pytest.fixture
def talk() -> Iterator[Talk]:
    client, server = socket.socketpair()
    client.settimeout(TIMEOUT_S)
    with client, server:
        yield Talk(client, server)


def job(*argv: str) -> dict[str, object]:
    return {"argv": argv, "environment": {"NAME": "value"}, "folder": "/usr"}


def test_it_runs_one_program_and_says_how_it_ended(talk: Talk) -> None:
    reading, writing = os.pipe()
    runner = talk.begin()
    talk.asks(job("/bin/sh", "-c", "echo $NAME; pwd; exit 7"), writing)
    os.close(writing)
    assert talk.answer() == {"exit": 7}
    runner.join(TIMEOUT_S)
    with os.fdopen(reading, "rb") as printed:
        # The end comes at once: the runner has let go of the pipe
        assert printed.read() == b"value\n/usr\n"
    assert talk.statuses == [0]


def test_who_goes_away_ends_it(talk: Talk) -> None:
    reading, writing = os.pipe()
    runner = talk.begin()
    talk.asks(job("/bin/sh", "-c", "echo begun; sleep 60 & sleep 60"), writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as printed:
        assert printed.readline() == b"begun\n"
        talk.client.shutdown(socket.SHUT_WR)
        assert talk.answer() == {"exit": -9}
        assert printed.read() == b""
    runner.join(TIMEOUT_S)


def test_who_is_gone_gets_no_answer_and_breaks_nothing(talk: Talk) -> None:
    runner = talk.begin()
    with Path(os.devnull).open("wb") as out:
        talk.asks(job("/bin/sleep", "60"), out.fileno())
    talk.client.close()
    runner.join(TIMEOUT_S)
    assert talk.statuses == [0]


def test_a_program_that_is_not_there_is_said(talk: Talk) -> None:
    runner = talk.begin()
    with Path(os.devnull).open("wb") as out:
        talk.asks(job("/nowhere"), out.fileno())
    assert "cannot be started" in str(talk.answer()["error"])
    runner.join(TIMEOUT_S)
    assert talk.statuses == [NOT_STARTED]


@pytest.mark.parametrize("line", [b"", b"{}\n", b'{"argv":[]}\n', b"\xff\n", b"[" * 70_000])
def test_a_request_that_is_none_is_refused(talk: Talk, line: bytes) -> None:
    runner = talk.begin()
    talk.client.sendall(line)
    talk.client.shutdown(socket.SHUT_WR)
    assert talk.answer() == {"error": "the request is invalid"}
    runner.join(TIMEOUT_S)
    assert talk.statuses == [BAD_REQUEST]


def test_where_it_is_not_alone_nothing_is_run(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.begin(ALONE).join(TIMEOUT_S)
    assert "sees other processes" in str(talk.answer()["error"])
    assert talk.statuses == [NOT_ALONE]
    monkeypatch.setattr(sandbox_runner.os, "getpid", lambda: 1)
    runner = talk.begin(ALONE)
    with Path(os.devnull).open("wb") as out:
        talk.asks(job("/bin/true"), out.fileno())
    assert talk.answer() == {"exit": 0}
    runner.join(TIMEOUT_S)


def test_a_job_has_three_descriptors() -> None:
    assert sandbox_runner.DESCRIPTORS == 3


def test_no_descriptor_of_a_job_stays_open(talk: Talk) -> None:
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a folder of the kernel's
    running = talk.begin()
    with Path(os.devnull).open("wb") as out:
        talk.asks(job("/bin/true"), out.fileno())
    assert talk.answer() == {"exit": 0}
    running.join(TIMEOUT_S)
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above


def test_as_a_program_it_is_spoken_to_on_its_standard_input(talk: Talk) -> None:
    program = (sys.executable, "-m", "agent.security.sandbox.runner")
    with (
        subprocess.Popen(program, stdin=talk.server) as running,
        Path(os.devnull).open() as nothing,
    ):
        talk.asks(job("/bin/sh", "-c", "exit 7"), nothing.fileno())
        assert talk.answer() == {"exit": 7}
        assert running.wait(TIMEOUT_S) == 0
