"""Canary secrets: what tests use as a key says so, and at the end nothing that is left may hold it.

A secret in a test has MARK in it; some stand in the environment of the whole run, as a person's
would. When the run is over every file that it left is searched, but for what a test wrote itself:
configurations, and files that a person or a page put somewhere. Every line that the agent logs,
with its traceback, and all that a test leaves on the standard streams is searched at once.
"""

import logging
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import pytest

from agent.system.logs import LineFormatter

MARK = "canary"


def secret(purpose: str) -> str:
    """What stands in tests for a secret; the same purpose is the same secret."""
    return f"{MARK}-{purpose}-91d3"


# As they lie about on a person's machine; no service of ours is asked with them
INHERITED = {
    "AWS_SECRET_ACCESS_KEY": secret("inherited-aws"),
    "GITHUB_TOKEN": secret("inherited-git"),
    "DATABASE_PASSWORD": secret("inherited-db"),
}
# Small letters, as they are looked for: plain words are found fifteen times as fast as a pattern
_MARKS = (b"canary-", b"canary%2d", b"y2fuyxj5l")
# Written by tests, not by the agent; everything else that is left is searched
_WRITTEN_BY_TESTS = (
    *("*.toml", "*.py", "*.html", "*.env", "*.key"),
    *("workspace/*", "*/workspace/*", "credentials/*", "*/credentials/*", "*/documents/*"),
)
_MAX_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 1024 * 1024
_OVERLAP_BYTES = 64
_HITS = "canary_hits"


def is_in(text: str) -> bool:
    return _is_marked(text.encode(errors="replace"))


def _is_marked(content: bytes) -> bool:
    lowered = content.lower()
    return any(mark in lowered for mark in _MARKS)


@contextmanager
def overheard_logs(leaked: list[str]) -> Iterator[None]:
    """Keep every line that holds a canary as the agent has written it: redacted, they say."""
    formatted = LineFormatter.format

    def overheard(self: LineFormatter, record: logging.LogRecord) -> str:
        line = formatted(self, record)
        if is_in(line):
            leaked.append(line)
        return line

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LineFormatter, "format", overheard)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test leaves on the standard streams is there for all to see."""
    report = yield
    if report.passed and report.when == "teardown" and is_in(report.capstdout + report.capstderr):
        report.outcome = "failed"
        report.longrepr = "CANARY: a secret stands on the standard streams, see what was captured"
    return report


def hits(folder: Path) -> list[str]:
    """The files beneath it that hold a canary."""
    return [str(path) for path in _kept(folder) if _holds(path)]


def _kept(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            relative = str(path.relative_to(folder))
            if not any(fnmatch(relative, pattern) for pattern in _WRITTEN_BY_TESTS):
                yield path


def _holds(path: Path) -> bool:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return False
        with path.open("rb") as file:
            before = b""
            while piece := file.read(_PIECE_BYTES):
                if _is_marked(before + piece):
                    return True
                before = piece[-_OVERLAP_BYTES:]
    except OSError:
        # Taken away meanwhile, or not for reading: then nobody else reads it either
        return False
    return False


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Search what this process has left; a worker hands its findings to the one that leads."""
    config = session.config
    found: list[str] = []
    if not hasattr(config, "workerinput") and config.pluginmanager.hasplugin("dsession"):
        found = config.stash.get(_FOUND, [])
    elif (factory := getattr(config, "_tmp_path_factory", None)) is not None:
        # Only if a test asked for a folder at all
        folder = factory._basetemp
        found = hits(folder) if folder is not None else []
    if hasattr(config, "workeroutput"):
        config.workeroutput[_HITS] = found
        return
    config.stash[_FOUND] = found
    if found:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """A worker is done."""
    found = getattr(node, "workeroutput", {}).get(_HITS, [])
    stash = node.config.stash  # type: ignore[attr-defined]  # of xdist, which brings no types
    stash[_FOUND] = [*stash.get(_FOUND, []), *found]


def say(reporter: pytest.TerminalReporter) -> None:
    """Name the files, where there are any."""
    found = reporter.config.stash.get(_FOUND, [])
    if found:
        reporter.section("CANARY: a secret was kept where none may be", red=True)
    for path in found:
        reporter.write_line(path)


_FOUND = pytest.StashKey[list[str]]()
