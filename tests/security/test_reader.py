"""Isolated runs of our own readers: what they see, and how long they may take."""

import sys
from pathlib import Path

from agent.security.reader import READ_TIMEOUT_S, ReaderRun, read_apart
from agent.turn.settings import AgentSettings
from tests.fakes.sandbox import EchoingSandbox


async def test_a_reader_sees_its_interpreter_itself_and_what_it_is_given(tmp_path: Path) -> None:
    sandbox = EchoingSandbox(tmp_path)
    program = str(tmp_path / "read.py")
    await read_apart(ReaderRun(program, ("1-2",), b"%PDF"), sandbox)
    [job] = sandbox.jobs
    assert job.argv == (sys.executable, "-I", "-S", program, "1-2")
    assert job.given == b"%PDF"
    assert Path(program) in job.needs
    # The system's own folders are there without a word
    assert not [path for path in job.needs if path.is_relative_to("/usr")]
    assert (job.environment, job.folder, job.writes) == ({}, None, False)


async def test_a_reader_with_packages_imports_them_and_nothing_beside_it(tmp_path: Path) -> None:
    sandbox = EchoingSandbox(tmp_path)
    await read_apart(ReaderRun("read.py", (), b"", with_packages=True), sandbox)
    assert sandbox.jobs[0].argv == (sys.executable, "-I", "read.py")


async def test_a_turn_outlives_its_readers(tmp_path: Path) -> None:
    sandbox = EchoingSandbox(tmp_path)
    await read_apart(ReaderRun("read.py", (), b""), sandbox)
    [job] = sandbox.jobs
    assert job.timeout_s == job.cpu_s == READ_TIMEOUT_S
    assert AgentSettings().turn_timeout_s >= 2 * READ_TIMEOUT_S
