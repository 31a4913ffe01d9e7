"""F03: a crash between an effect and its record: kill -9 at every crash point of the source.

The real agent as a process, a simulated board with the real firmware, and a platform on loopback.
A new crash point is tried by itself, and fails here where no turn passes it.
"""

import ast
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim
from tests.fakes.llm_thread import LlmThread
from tests.fakes.loopback import LoopbackPlatform
from tests.fakes.mortal import LIMIT_S, MortalAgent, wait_for

ROOT = Path(__file__).parents[2]
# Points of one platform, and of an update, are tried where that is
OTHERS = ("telegram.", "signal.", "update.")


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


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[LoopbackPlatform]:
    with LoopbackPlatform(tmp_path) as started:
        yield started


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
        agent = MortalAgent(tmp_path, sim, model, platform)
        first, second = platform.say("Turn the led on"), platform.say("Hello there")
        assert agent.start(point).wait(LIMIT_S) == -signal.SIGKILL, agent.log()
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
