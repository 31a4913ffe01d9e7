"""F03: a crash between an effect and its record: kill -9 at every crash point of the source.

The real agent as a process, a simulated board with the real firmware, and a platform on loopback.
A new crash point is tried by itself, and fails here where no turn passes it.
"""

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim
from tests.fakes.llm_thread import LlmThread
from tests.fakes.loopback import LoopbackPlatform

ROOT = Path(__file__).parents[2]
# Points of one platform alone are tried where that platform is
OTHERS = ("telegram.", "signal.")
LIMIT_S = 15.0
LOOK_S = 0.02


def crash_points() -> list[str]:
    """Every name in the source; a name that is no literal is a mistake."""
    found = []
    for path in sorted((ROOT / "agent").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "crash_point":
                (name,) = node.args
                assert isinstance(name, ast.Constant), path
                found.append(str(name.value))
    return found


POINTS = [point for point in crash_points() if not point.startswith(OTHERS)]


class _Agent:
    """The agent in a folder, started again and again."""

    def __init__(self, folder: Path, config: str, platform: LoopbackPlatform) -> None:
        self._folder = folder
        (folder / "barnacle.toml").write_text(config)
        (folder / "state").mkdir()
        self._command = [sys.executable, "-m", "tests.fakes.killed_agent"]
        self._command += [str(folder / "barnacle.toml"), str(folder / "state"), str(platform.path)]

    def start(self, point: str = "") -> subprocess.Popen[bytes]:
        environ = {"PATH": os.environ["PATH"], "HOME": str(self._folder)}
        with (self._folder / "log").open("a") as log:
            return subprocess.Popen([*self._command, point], cwd=ROOT, env=environ, stderr=log)


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[LoopbackPlatform]:
    with LoopbackPlatform(tmp_path) as started:
        yield started


def wait_for(platform: LoopbackPlatform, *whole: str) -> None:
    """Until these messages have whole answers: the last part is shorter than the others."""
    until_s = time.monotonic() + LIMIT_S
    while not all(platform.answer(one).endswith(".") for one in whole):
        assert time.monotonic() < until_s, platform.sent
        time.sleep(LOOK_S)


def test_every_crash_point_has_a_name_of_its_own() -> None:
    every = crash_points()
    assert len(every) == len(set(every))
    assert len(POINTS) >= 10


@pytest.mark.timeout(60)
@pytest.mark.parametrize("point", POINTS)
def test_killed_there_it_answers_once_and_acts_at_most_once(
    tmp_path: Path, sim: BoardSim, platform: LoopbackPlatform, point: str
) -> None:
    with LlmThread() as model:
        config = (
            f'[provider]\nbase_url = "{model.server.base_url}"\nmodel = "fake"\n'
            f'[board]\nport = "{sim.port}"\n[embeddings]\nprovider = "none"\n'
        )
        agent = _Agent(tmp_path, config, platform)
        first, second = platform.say("Turn the led on"), platform.say("Hello there")
        assert agent.start(point).wait(LIMIT_S) == -signal.SIGKILL, (tmp_path / "log").read_text()
        again = agent.start()
        try:
            wait_for(platform, first, second)
        finally:
            again.kill()
            again.wait()
    assert sum(value for value, _ in sim.changes("led")) <= 1
    # One content each: what was sent before the crash and what came after it are the same text
    assert "led" in platform.answer(first) or "interrupted" in platform.answer(first)
    assert platform.answer(second) == "I only obey a few phrases."
