"""Processes and folders that outlive the tests: they are named, removed, and fail the run.

Every process of a run bears a mark that it inherits and hardly can lose: an unusual limit for
POSIX message queues, which nothing here uses. An environment variable would not do, as agents and
their tools start programs with an environment of their own. Temporary folders of the tests and of
all that they start are made in one folder of the run, which has to be empty at the end.
"""

import contextlib
import os
import resource
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.waits import wait_until_sync

# Whoever was told to end does so in this time on a busy machine, and `rm -r` of a database
PATIENCE_S = 20.0
_LOOK_S = 0.05
_TEST = b"PYTEST_CURRENT_TEST="
_MAKERS = "folder_makers"
_QUEUES = "Max msgqueue size"
_LEAST_MARK_BYTES = 100_000
_MARKS = 700_000
# Of /proc/PID/stat, counted from after the name
_START_TICKS = 19
_TICK_S = 0.02

_at_end: list[Callable[[], None]] = []
_makers: dict[str, str] = {}
_found: list[str] = []
_ran: dict[str, "_Span"] = {}


@dataclass(slots=True)
class _Span:
    """When a test ran, in seconds since the machine started."""

    begun_s: float
    ended_s: float = float("inf")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was started by a test and still runs."""

    pid: int
    command: str
    test: str

    def __str__(self) -> str:
        return f"process {self.pid}: {self.command} (started {self.test})"


def at_end(end: Callable[[], None]) -> None:
    """Call this when the tests of this process are over: for servers that tests share."""
    _at_end.append(end)


def watch(config: pytest.Config) -> None:
    """Mark this process and give it a folder for temporary files; a worker has both already."""
    config.pluginmanager.register(sys.modules[__name__], "leftovers")
    sys.addaudithook(_note_maker)
    if hasattr(config, "workerinput"):
        return
    # pytest's own folders stay where people look for them
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    folder = Path(tempfile.gettempdir(), f"tests-{secrets.token_hex(3)}")
    folder.mkdir(mode=0o711)
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    _, hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    mark_bytes = _LEAST_MARK_BYTES + secrets.randbelow(_MARKS)
    resource.setrlimit(resource.RLIMIT_MSGQUEUE, (mark_bytes, hard))


def processes() -> Iterator[Process]:
    """The processes that bear this one's mark, but for it and those that it came from."""
    mark = _mark(Path("/proc/self"))
    lineage = set(_lineage())
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) not in lineage:
            # It may end meanwhile; a zombie has no command line
            with contextlib.suppress(OSError):
                command = (folder / "cmdline").read_bytes()
                if command and _mark(folder) == mark:
                    yield Process(int(folder.name), _shown(command), _test_of(folder))


def folders() -> list[Path]:
    """What stands in the run's folder for temporary files."""
    return sorted(Path(os.environ["TMPDIR"]).iterdir())


def folder_of_pytest() -> Path:
    """The folder in which pytest makes its own."""
    return Path(os.environ["PYTEST_DEBUG_TEMPROOT"])


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note the begin; the process that leads the run hears of all workers."""
    _ran[nodeid] = _Span(_since_boot_s())


def pytest_runtest_logfinish(nodeid: str) -> None:
    _ran[nodeid].ended_s = _since_boot_s()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what is shared; the process that leads the run then looks for what is left."""
    for end in reversed(_at_end):
        end()
    _at_end.clear()
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput[_MAKERS] = _makers
        return
    _found.extend(_left())
    if _found:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Learn from a worker which test made which folder."""
    _makers.update(getattr(node, "workeroutput", {}).get(_MAKERS, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what is left, where anything is."""
    if _found:
        terminalreporter.section("LEFT BEHIND: these outlived the tests", red=True)
    for one in _found:
        terminalreporter.write_line(one)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder of the run, however it ended."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)


def _left() -> Generator[str]:
    """Name, and end, what is still there when everything had time to go."""
    with contextlib.suppress(AssertionError):
        wait_until_sync(lambda: not any(processes()), PATIENCE_S, look_s=_LOOK_S)
    for process in processes():
        yield str(process)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    for path in folders():
        maker = _makers.get(str(path))
        yield f"folder {path} ({f'made by {maker}' if maker else _changed(path)})"


def _note_maker(event: str, arguments: tuple[object, ...]) -> None:
    if event in {"tempfile.mkdtemp", "tempfile.mkstemp"}:
        _makers[str(arguments[0])] = os.environ.get("PYTEST_CURRENT_TEST", "no test")


def _mark(process: Path) -> str:
    lines = (process / "limits").read_text().splitlines()
    return next(line.removeprefix(_QUEUES).split()[0] for line in lines if _QUEUES in line)


def _lineage() -> Iterator[int]:
    pid = os.getpid()
    while pid:
        yield pid
        status = Path(f"/proc/{pid}/stat").read_text()
        pid = int(status.rpartition(")")[2].split()[1])


def _since_boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _shown(command: bytes) -> str:
    return command.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")


def _test_of(process: Path) -> str:
    """Look up the test that ran when the process started."""
    with contextlib.suppress(OSError):
        environ = (process / "environ").read_bytes().split(b"\0")
        if told := [one.removeprefix(_TEST) for one in environ if one.startswith(_TEST)]:
            return f"by {told[0].decode(errors='replace')}"
    ticks = int((process / "stat").read_text().rpartition(")")[2].split()[_START_TICKS])
    return _during(ticks / os.sysconf("SC_CLK_TCK"))


def _changed(path: Path) -> str:
    """Say when a program that a test started last changed the folder, and its contents."""
    ago_s = time.time() - path.stat().st_ctime
    held = sorted(one.name for one in path.iterdir()) if path.is_dir() else []
    return f"with {held}, changed {_during(_since_boot_s() - ago_s)}"


def _during(at_s: float) -> str:
    ran = [test for test, span in _ran.items() if span.begun_s - _TICK_S <= at_s <= span.ended_s]
    return f"while these ran: {', '.join(ran)}" if ran else "when no test ran"
