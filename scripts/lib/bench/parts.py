"""Measures the agent's memory with each part that an owner may add, and after it was used.

Every agent is a process of its own with an empty state and no model service. Parts take turns, and
each figure is the median of several starts. What a part stands on is not counted as its own.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from scripts.lib.bench.parts_list import NOTHING, PARTS, Part, Place
from scripts.lib.bench.table import NO_BAR, Row, show
from scripts.lib.setup import ROOT
from tests.fakes import mosquitto
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.irc_server import free_port

STARTS = 3
MOST_MORE_MB = 1.0
# It has settled when its memory has moved by no more than this for so long, or at the end
_STILL_KIB, _STILL_S, _SETTLED_S = 64, 3.0, 30.0
_LOOK_S = 0.5
_MB = 1e6 / 1024
_RUN = "import runpy; runpy.run_module('agent.cli.main', run_name='__main__', alter_sys=True)"
_BASE = '[provider]\nkind = "offline"\n[embeddings]\nprovider = "none"\n'


class Found:
    """Memory of every start, in KiB."""

    def __init__(self) -> None:
        self.idle: defaultdict[str, list[int]] = defaultdict(list)
        self.used: defaultdict[str, list[int]] = defaultdict(list)
        self.before: list[int] = []

    def rows(self, parts: Sequence[Part], since: str) -> Iterator[Row]:
        """Yield a row for each part; the first is the agent without any."""
        yield self._unchanged(since)
        for part in parts[1:]:
            idle_mb = self._mb(self.idle[part.name])
            base_mb = self._mb(self.idle[part.over])
            told = f"{idle_mb - base_mb:+.1f} MB idle"
            if used := self.used[part.name]:
                told += f", {self._mb(used) - base_mb:+.1f} MB after {part.after}"
            yield Row(part.name, NO_BAR, told, f"{base_mb:.1f} MB with {part.over}", None)

    def _unchanged(self, since: str) -> Row:
        now_mb = self._mb(self.idle[NOTHING.name])
        bar = f"<= {MOST_MORE_MB:g} MB more"
        if not self.before:
            return Row(NOTHING.name, bar, f"{now_mb:.1f} MB", "needs --since", None)
        before_mb = self._mb(self.before)
        held = now_mb - before_mb <= MOST_MORE_MB
        told = f"{now_mb:.1f} MB ({now_mb - before_mb:+.1f} MB)"
        return Row(NOTHING.name, bar, told, f"{before_mb:.1f} MB at {since}", held)

    @staticmethod
    def _mb(found: Sequence[int]) -> float:
        return statistics.median(found) / _MB


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench-parts", description=__doc__)
    parser.add_argument("--since", default="", help="commit whose agent is the baseline")
    parser.add_argument("--only", default="", help="parts with this word in their name")
    parser.add_argument("--starts", type=int, default=STARTS)
    wanted = parser.parse_args(arguments)
    parts = chosen(wanted.only)
    found = Found()
    with ExitStack() as held:
        scratch = tempfile.TemporaryDirectory(prefix="barnacle-parts-")
        folder = Path(held.enter_context(scratch))
        if reason := mosquitto.unavailable_reason():
            print(f"channels.mqtt tries in vain: {reason}", file=sys.stderr)
        port = 1 if reason else held.enter_context(mosquitto.running(folder)).port
        old = _tree_of(wanted.since, folder) if wanted.since else None
        for number in range(wanted.starts):
            if old is not None:
                found.before.append(_idle_of(old, folder / f"before{number}"))
            for part in parts:
                _measure(part, Place(folder / f"{number}-{part.slug}", port, free_port()), found)
    table = list(found.rows(parts, wanted.since[:12]))
    show(table)
    return int(any(row.held is False for row in table))


def chosen(word: str) -> list[Part]:
    """Return the parts with the word in their name, with those that they stand on before them."""
    wanted = {NOTHING.name}
    for part in PARTS:
        below = part
        while word in part.name and below.name not in wanted:
            wanted.add(below.name)
            below = _named(below.over)
    return [part for part in PARTS if part.name in wanted]


def _measure(part: Part, place: Place, found: Found) -> None:
    """Start an agent with the part, once."""
    place.folder.mkdir()
    with DaemonProcess(place.folder, configuration(part, place)) as agent:
        found.idle[part.name].append(settled_kib(agent))
        if part.use is not None:
            part.use(place)
            found.used[part.name].append(settled_kib(agent))


def settled_kib(agent: DaemonProcess) -> int:
    """Return the memory of the process when it moves no more."""
    seen, ends_s = [agent.rss_kib], time.monotonic() + _SETTLED_S
    looks = round(_STILL_S / _LOOK_S)
    while time.monotonic() < ends_s:
        time.sleep(_LOOK_S)
        seen.append(agent.rss_kib)
        last = seen[-looks:]
        if len(last) == looks and max(last) - min(last) <= _STILL_KIB:
            break
    return seen[-1]


def configuration(part: Part, place: Place) -> str:
    """Return the configuration with the part and those that it stands on."""
    below = _BASE if part is NOTHING else configuration(_named(part.over), place)
    return below + part.config.format(broker=place.broker_port, port=place.port)


def _named(name: str) -> Part:
    return next(part for part in PARTS if part.name == name)


def _idle_of(tree: Path, folder: Path) -> int:
    """Return the memory of an agent of another checkout, without any part."""

    class OldDaemon(DaemonProcess):
        program = ("-c", f"import sys; sys.path[0] = {str(tree)!r}\n{_RUN}")

    folder.mkdir()
    with OldDaemon(folder, _BASE) as agent:
        return settled_kib(agent)


def _tree_of(commit: str, folder: Path) -> Path:
    """Return the agent's folder as it was at the commit."""
    tree = folder / "tree"
    tree.mkdir()
    packed = subprocess.run(
        ["git", "archive", commit, "agent", "firmware"], cwd=ROOT, check=True, capture_output=True
    )
    subprocess.run(["tar", "-x", "-C", tree], input=packed.stdout, check=True)
    # Whoever compiles its modules itself takes more memory than those after it
    subprocess.run([sys.executable, "-m", "compileall", "-q", tree], check=True)
    return tree
