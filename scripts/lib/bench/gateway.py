"""Measures whether a caller with manners is answered while others hold every place they can get.

The gateway, the slow callers and the honest one are a process each. The slow ones come again as
soon as they are cut. The honest one asks for /health, from the same address unless it says
otherwise, with a new connection for each request.
"""

import argparse
import contextlib
import math
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.lib.bench.table import Row, show
from scripts.lib.places import ROOT
from tests.fakes.slow_callers import Slowness

CALLERS = 200
REQUESTS = 100
P99_BUDGET_MS = 50.0
END_BUDGET_S = 3.0
_ASK = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
# Long enough that every kind is cut and comes again while requests are made
_APART_S = 0.12
_PATIENCE_S = 10.0
_SOME_S = 2.0
_MOST_LINES = 20
_ALL = ",".join(kind.name for kind in Slowness)
_ONE = "127.0.0.1"
_MANY = ",".join(f"127.0.1.{number}" for number in range(1, CALLERS + 1))


@dataclass
class _Asked:
    """Times of the requests that were answered, and what the crowd did meanwhile."""

    taken_ms: list[float] = field(default_factory=list)
    connections: int = 0

    @property
    def p99_ms(self) -> float:
        if len(self.taken_ms) < REQUESTS:
            return float("inf")
        return sorted(self.taken_ms)[math.ceil(len(self.taken_ms) * 0.99) - 1]


@dataclass
class _Served:
    """A gateway in a process of its own."""

    port: int
    process: subprocess.Popen[str]


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and say by the exit status whether every bar is held."""
    parser = argparse.ArgumentParser(prog="bench-gateway", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="all kinds at once, and no other row")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="barnacle-") as made:
        rows = list(_rows(Path(made), is_quick=given.quick))
    print()
    show(rows)
    return 0 if all(row.held is not False for row in rows) else 1


def _rows(folder: Path, *, is_quick: bool) -> Iterator[Row]:
    log = folder / "log"
    with _served(folder, log) as served:
        alone = _asked(served)
        told = f"{statistics.median(alone.taken_ms):.1f} ms p50, {alone.p99_ms:.1f} ms p99 (alone)"
        yield _row(f"all {len(Slowness)} kinds at once", _among(served, _ALL, _ONE), told)
        if not is_quick:
            for kind in Slowness:
                yield _row(kind.value, _among(served, kind.name, _ONE), told)
            yield _row("all kinds, of 200 addresses", _among(served, _ALL, _MANY), told)
        crowd = _crowd(served, _ALL, _ONE, _SOME_S + _PATIENCE_S)
        begun_s = time.monotonic()
        assert served.process.stdin is not None
        served.process.stdin.close()
        served.process.wait(_PATIENCE_S)
        end_s = time.monotonic() - begun_s
        crowd.kill()
        crowd.wait()
    yield Row(
        f"the end among {CALLERS} slow callers",
        f"<= {END_BUDGET_S:g} s",
        f"{end_s:.2f} s",
        "",
        end_s <= END_BUDGET_S,
    )
    lines = log.read_text().splitlines()
    print(*lines[:_MOST_LINES], sep="\n")
    yield Row("lines of the log, tracebacks too", "0", f"{len(lines)}", "", not lines)


def _row(what: str, asked: _Asked, alone: str) -> Row:
    measured = "no answer"
    if asked.taken_ms:
        measured = (
            f"{len(asked.taken_ms)} of {REQUESTS}, {statistics.median(asked.taken_ms):.1f} ms p50, "
            f"{asked.p99_ms:.1f} ms p99 ({asked.connections:,} slow connections)"
        )
    bar = f"{REQUESTS} of {REQUESTS}, p99 < {P99_BUDGET_MS:g} ms"
    return Row(what, bar, measured, alone, asked.p99_ms < P99_BUDGET_MS)


def _among(served: _Served, kinds: str, sources: str) -> _Asked:
    """Ask while the crowd is there."""
    crowd = _crowd(served, kinds, sources, _SOME_S + REQUESTS * _APART_S)
    asked = _asked(served)
    told, _ = crowd.communicate(timeout=_SOME_S + REQUESTS * _APART_S + _PATIENCE_S)
    asked.connections = int(told.split()[-1])
    return asked


def _asked(served: _Served) -> _Asked:
    asked = _Asked()
    for _ in range(REQUESTS):
        begun_s = time.perf_counter()
        with contextlib.suppress(OSError), socket.create_connection((_ONE, served.port), 5) as made:
            made.sendall(_ASK)
            if _whole(made).startswith(b"HTTP/1.1 200 "):
                asked.taken_ms.append((time.perf_counter() - begun_s) * 1e3)
        time.sleep(max(0.0, _APART_S - (time.perf_counter() - begun_s)))
    return asked


def _whole(made: socket.socket) -> bytes:
    told = b""
    while piece := made.recv(65536):
        told += piece
    return told


def _crowd(served: _Served, kinds: str, sources: str, held_s: float) -> subprocess.Popen[str]:
    """Slow callers, once all of them have come."""
    told = [str(served.port), str(CALLERS), str(held_s), kinds, sources]
    crowd = _started("gateway_crowd", *told)
    assert crowd.stdout is not None
    crowd.stdout.readline()
    return crowd


@contextlib.contextmanager
def _served(folder: Path, log: Path) -> Iterator[_Served]:
    with log.open("w") as errors:
        process = _started("gateway_at_work", str(folder), errors=errors)
        assert process.stdout is not None
        try:
            yield _Served(int(process.stdout.readline()), process)
        finally:
            process.kill()
            process.wait()


def _started(piece: str, *arguments: str, errors: object = None) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "scripts" / "lib"), f"bench.{piece}", *arguments]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,  # type: ignore[call-overload]  # a file, or None
        text=True,
    )
