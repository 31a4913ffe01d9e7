"""The whole agent, its console and the simulated board as processes, for trials and benches."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.lib.setup import ROOT
from tests.fakes.board_sim import BoardSim
from tests.fakes.daemon_process import DaemonProcess

_CONFIG = """
[agent]
name = "Greenhouse"
[board]
port = "{port}"
approve_button = "button"
[board.pins.valve]
pin = "PB10"
kind = "output"
max_on_s = 60
danger = "hazard"
# What the pages show needs no vectors, and a busy machine loads them for many seconds
[embeddings]
provider = "none"
{console}{more}
"""
_CONSOLE = """
[console]
listen = "127.0.0.1:0"
"""
_WHERE = re.compile(r"http://[0-9.:]+")
_PAIR_TIMEOUT_S = 60


@dataclass(slots=True)
class WholeConsole:
    """Agent, console and board at work."""

    folder: Path
    base: str
    daemon: DaemonProcess
    sim: BoardSim
    console: subprocess.Popen[str] | None

    def barnacle(self, *words: str) -> str:
        """Run a command beside the agent; return what it says."""
        done = subprocess.run(
            [sys.executable, "-m", "agent.cli.main", *words],
            cwd=ROOT,
            env=environ(self.folder),
            check=True,
            timeout=_PAIR_TIMEOUT_S,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def kill_console(self) -> None:
        """End the console as a lost device does: without a farewell."""
        assert self.console is not None
        self.console.kill()
        self.console.wait()
        if self.console.stdout is not None:
            self.console.stdout.close()

    def start_console(self) -> None:
        """Start the console that was killed, at the same address."""
        self.console, _ = _started(self.folder, "--listen", self.base.removeprefix("http://"))

    def code(self, role: str = "owner") -> str:
        """Return a new code that lets a browser in."""
        return str(json.loads(self.barnacle("pair", "--role", role, "--json"))["code"])


def environ(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(folder),
        "BARNACLE_CONFIG": str(folder / "barnacle.toml"),
        "BARNACLE_STATE_DIR": str(folder / "state"),
    }


def rss_kib(pid: int) -> int:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@contextmanager
def whole_console(
    folder: Path, *, with_console: bool = True, more: str = ""
) -> Iterator[WholeConsole]:
    """Run everything below `folder` until the end of the block; `more` is of the configuration."""
    (folder / "board").mkdir(parents=True, exist_ok=True)
    sim = BoardSim(folder / "board")
    console = _CONSOLE if with_console else ""
    config = _CONFIG.format(port=sim.port, console=console, more=more)
    with sim, DaemonProcess(folder, config) as daemon:
        if not with_console:
            yield WholeConsole(folder, "", daemon, sim, None)
            return
        process, base = _started(folder)
        whole = WholeConsole(folder, base, daemon, sim, process)
        try:
            yield whole
        finally:
            whole.kill_console()


def _started(folder: Path, *words: str) -> tuple[subprocess.Popen[str], str]:
    """Return the console's process and its address, as soon as it says that."""
    process = subprocess.Popen(
        [sys.executable, "-m", "agent.cli.main", "console", *words],
        cwd=ROOT,
        env=environ(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    found = _WHERE.search(process.stdout.readline())
    if found is None:
        process.kill()
        raise AssertionError("the console did not start")
    return process, found[0]
