"""Two network namespaces with a cable between them, and a device in each, as processes."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# What was cut off has its patience, and a retry each few seconds
SETTLED_S = 300.0
_START_S = 30.0
_LOOK_S = 0.005
_ADDRESSES = {"garden": "10.77.0.1", "kitchen": "10.77.0.2"}


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
        end_s = time.monotonic() + SETTLED_S
        while time.monotonic() < end_s:
            if ["settled"] in lines(self._folder / "said"):
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
        while not lines(self._folder / "acts"):
            if time.monotonic() > end_s:
                raise SystemExit(f"no act: {(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(_LOOK_S)

    def _space(self, who: str) -> str:
        return f"{self._known}{who[0]}"


@contextlib.contextmanager
def rig(way: str) -> Iterator[tuple[Rig, Path]]:
    """Yield the two at work, and the folder that they write into."""
    with tempfile.TemporaryDirectory() as name:
        made = Rig(Path(name), way)
        try:
            made.begin()
            made.wait()
            yield made, Path(name)
        finally:
            made.end()


def lines(path: Path) -> list[list[object]]:
    """Return what a device wrote down, a list for each line."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    # The last line may be one that is just being written
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
