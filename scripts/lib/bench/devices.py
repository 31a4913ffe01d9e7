"""Two devices in network namespaces, cut off from one another again and again.

A cut is a cable that is pulled, or one of the two processes killed. Half of the cuts are made with
a broker between them, half with a connection of their own.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scripts.lib.bench.table import Row, show

ROOT = Path(__file__).resolve().parents[3]
CUTS = 1000
_SETTLED_S = 300.0
_START_S = 30.0
_LOOK_S = 0.005
# From the question to the answer
_ACT_LASTS_S = 0.08
_ADDRESSES = {"garden": "10.77.0.1", "kitchen": "10.77.0.2"}
# Of ten cuts, how many pull the cable; the others kill a device
_PULLED = 9
_OVER = {"done": True, "never": False, "refused": False, "stale": False}
_SENTENCES = {"it was done": True, "it was not done": False}


def why_not() -> str:
    """Return why it cannot be run here; empty where it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "mosquitto"):
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            return f"there is no {program}"
    probe = f"barnacle-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False)
    subprocess.run(["ip", "netns", "del", probe], capture_output=True, check=False)
    return "" if made.returncode == 0 else f"no network namespace: {made.stderr.decode().strip()}"


@dataclass
class Tally:
    """Outcome of all cuts."""

    cuts: int = 0
    asked: int = 0
    acted: int = 0
    doubled: list[int] = field(default_factory=list)
    wordless: list[int] = field(default_factory=list)
    lies: list[int] = field(default_factory=list)
    unknown: int = 0

    def read(self, folder: Path) -> None:
        """Add what the two devices wrote down."""
        acts = collections.Counter(one[0] for one in _lines(folder / "acts"))
        said = _lines(folder / "said")
        asked = [one[1] for one in said if one[0] == "asked"]
        told = {number: [one[2] for one in said if one[:2] == ["told", number]] for number in asked}
        self.asked += len(asked)
        self.acted += len(acts)
        self.doubled += [number for number, count in acts.items() if count > 1]
        self.wordless += [number for number, words in told.items() if not words]
        for number, words in told.items():
            verdicts = {_verdict(one) for one in words}
            self.unknown += verdicts == {None}
            if (True in verdicts and not acts[number]) or (False in verdicts and acts[number]):
                self.lies.append(number)


class Rig:
    """Two namespaces with a cable between them, and a device in each."""

    def __init__(self, folder: Path, way: str) -> None:
        self._folder = folder
        self._way = way
        self._known = f"bd{os.getpid()}{way[0]}"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._broker: subprocess.Popen[bytes] | None = None
        self._log = (folder / "log").open("ab")

    def begin(self) -> None:
        """Return when both are at work."""
        near, far = self._space("kitchen"), self._space("garden")
        for one in (near, far):
            _ip("netns", "add", one)
        _ip("link", "add", near, "type", "veth", "peer", "name", far)
        for who, one in (("kitchen", near), ("garden", far)):
            _ip("link", "set", one, "netns", one)
            _ip("-n", one, "addr", "add", f"{_ADDRESSES[who]}/24", "dev", one)
            _ip("-n", one, "link", "set", "lo", "up")
            _ip("-n", one, "link", "set", one, "up")
        if self._way == "broker":
            config = self._folder / "mosquitto.conf"
            config.write_text("listener 1883 0.0.0.0\nallow_anonymous true\nuser root\n")
            command = ["ip", "netns", "exec", far, "mosquitto", "-c", str(config)]
            self._broker = subprocess.Popen(command, stdout=self._log, stderr=self._log)
        for who in ("garden", "kitchen"):
            self.start(who)

    def start(self, who: str) -> None:
        """Start a device."""
        command = [
            *("ip", "netns", "exec", self._space(who), sys.executable),
            *(str(ROOT / "scripts" / "lib"), "bench.devices_process"),
            *(who, str(self._folder), self._way, _ADDRESSES["garden"]),
        ]
        environ = {**os.environ, "BARNACLE_BENCH": "1"}
        self._processes[who] = subprocess.Popen(
            command, stdout=self._log, stderr=self._log, env=environ
        )

    def kill(self, who: str) -> None:
        """End a device as a power cut would, and start it again."""
        process = self._processes[who]
        process.kill()
        process.wait()
        (self._folder / f"{who}.ready").unlink(missing_ok=True)
        self.start(who)
        self._until((self._folder / f"{who}.ready").exists)

    def catch(self) -> None:
        """Wait until something more is asked for, so that the next cut is in its way."""
        before = (self._folder / "said").stat().st_size
        self._until(lambda: (self._folder / "said").stat().st_size > before)

    def _until(self, condition: Callable[[], bool]) -> None:
        end_s = time.monotonic() + _START_S
        while not condition() and time.monotonic() < end_s:
            time.sleep(_LOOK_S)

    def pull(self, for_s: float) -> None:
        """Pull the cable for a while."""
        space = self._space("kitchen")
        _ip("-n", space, "link", "set", space, "down")
        time.sleep(for_s)
        _ip("-n", space, "link", "set", space, "up")

    def settle(self) -> bool:
        """Return true when the kitchen was told of everything, in time."""
        (self._folder / "enough").touch()
        end_s = time.monotonic() + _SETTLED_S
        while time.monotonic() < end_s:
            if ["settled"] in _lines(self._folder / "said"):
                return True
            time.sleep(_LOOK_S)
        return False

    def end(self) -> None:
        """Leave nothing behind."""
        for process in (*self._processes.values(), *filter(None, [self._broker])):
            process.kill()
            process.wait()
        for who in ("kitchen", "garden"):
            subprocess.run(
                ["ip", "netns", "del", self._space(who)], capture_output=True, check=False
            )
        self._log.close()

    def wait(self) -> None:
        """Wait for the first act."""
        end_s = time.monotonic() + _START_S
        while not _lines(self._folder / "acts"):
            if time.monotonic() > end_s:
                raise SystemExit(f"no act: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(_LOOK_S)

    def _space(self, who: str) -> str:
        return f"{self._known}{who[0]}"


@contextlib.contextmanager
def rig(way: str) -> Iterator[tuple[Rig, Path]]:
    with tempfile.TemporaryDirectory() as name:
        made = Rig(Path(name), way)
        try:
            made.begin()
            made.wait()
            yield made, Path(name)
        finally:
            made.end()


def cut(cuts: int, seed: int = 1) -> Tally:
    """Return what came of so many cuts, half of them by each way."""
    chance, tally = random.Random(seed), Tally()  # noqa: S311 - which cut comes next
    for way, share in (("straight", cuts - cuts // 2), ("broker", cuts // 2)):
        with rig(way) as (made, folder):
            for _ in range(share):
                _one(made, chance)
                tally.cuts += 1
            if not made.settle():
                print(f"not settled within {_SETTLED_S:g} s ({way})", file=sys.stderr)
            tally.read(folder)
    return tally


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cuts", type=int, default=CUTS)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args(arguments)
    if reason := why_not():
        print(f"not run: {reason}", file=sys.stderr)
        return 1
    tally = cut(wanted.cuts, wanted.seed)
    rows = rows_of(tally)
    show(rows)
    return int(any(row.held is False for row in rows))


def rows_of(tally: Tally) -> list[Row]:
    """Return the table of a tally."""
    of = f"{tally.asked} acts asked, {tally.acted} done, {tally.cuts} cuts"
    return [
        Row("acts done twice", "0", str(len(tally.doubled)), of, not tally.doubled),
        Row("acts lost without a word", "0", str(len(tally.wordless)), of, not tally.wordless),
        Row("told otherwise than it was", "0", str(len(tally.lies)), of, not tally.lies),
        Row("told as unknown or interrupted", "-", str(tally.unknown), of, None),
        Row("acts done at all", "> 0", str(tally.acted), of, tally.acted > 0),
    ]


def _one(made: Rig, chance: random.Random) -> None:
    made.catch()
    time.sleep(chance.uniform(0.0, _ACT_LASTS_S))
    if chance.randrange(10) < _PULLED:
        made.pull(chance.uniform(0.02, 0.3))
    else:
        made.kill(chance.choice(("garden", "kitchen")))


def _verdict(told: str) -> bool | None:
    if told in _OVER:
        return _OVER[told]
    return next((meant for said, meant in _SENTENCES.items() if f"now: {said}" in told), None)


def _lines(path: Path) -> list[list[object]]:
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    # The last line may be one that is just being written
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
