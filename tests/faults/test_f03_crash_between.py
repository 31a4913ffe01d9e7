"""F03: a crash between an effect and its record: kill -9 at every crash point of the source.

The real agent as a process, a real MQTT broker, the fakes of Telegram, Signal and ntfy, a model,
and a simulated board with the real firmware. A new crash point is tried by itself, and fails here
where no turn passes.
"""

import ast
import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes import llm_server
from tests.fakes.board_sim import BoardSim
from tests.fakes.lives import Lives, lives_of
from tests.fakes.llm_server import Json, Reply, streamed
from tests.fakes.obedient_model import obey
from tests.fakes.phones import PHONES, Phone
from tests.fakes.topic_phones import TOPIC_PHONES
from tests.waits import wait_until

ROOT = Path(__file__).parents[2]
# A start, a greeting of the board and a turn; a busy machine may need longer
PATIENCE_S = 25.0
# More than one message of any platform takes
STORY = " ".join(f"word{number}." for number in range(700))
INTERRUPTED = "interrupted"
EVERY = {**PHONES, **TOPIC_PHONES}
# Here something is with the platform that the journal does not know of yet
UNKNOWN_AT = ("delivery.part_sent", "delivery.sent")


def crash_points() -> list[str]:
    """Every name in the source; a name that is no literal is a mistake."""
    found = []
    for path in sorted((ROOT / "agent").rglob("*.py")):
        source = path.read_text()
        # Few have one: to understand them all takes seconds of every worker
        if "crash_point(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "crash_point":
                (name,) = node.args
                assert isinstance(name, ast.Constant), path
                found.append(str(name.value))
    return found


# An update, a restore and an act between devices have steps of their own, which are tried where
# they are
OTHERS = ("update.", "restore.", "device act ")
POINTS = [point for point in crash_points() if not point.startswith(OTHERS)]


def tell_stories(request: Json) -> Reply:
    """Obey, and say at length what came of it."""
    messages = request["messages"]
    assert isinstance(messages, list)
    if messages[-1]["role"] == "tool" and '"pin"' in messages[-1]["content"]:
        return streamed(f"The led is on. {STORY}", piece_chars=1000)
    return obey(request)


class Home:
    """An agent with a board and a phone, that begins again as often as it is killed."""

    def __init__(self, lives: Lives, phone: Phone, folder: Path) -> None:
        self._lives = lives
        self.phone = phone
        self._state = folder / "state"
        self._config = folder / "barnacle.toml"

    async def prepare(self, model: str, board: Path) -> None:
        self._config.write_text(
            f'[provider]\nbase_url = "{model}"\nmodel = "fake"\n[board]\nport = "{board}"\n'
            f'[embeddings]\nprovider = "none"\n{self.phone.config}'
        )
        self._config.chmod(0o600)
        self._state.mkdir()
        await self.phone.join(self._state)

    async def live(self, point: str, until: Callable[[], bool] = lambda: False) -> int:
        """Until it has died at the point, or what is waited for has come."""
        whereabouts = (str(self._config), str(self._state), "-", point)
        async with self._lives.begin(*whereabouts) as life, asyncio.timeout(PATIENCE_S):
            await wait_until(lambda: not (not life.ending.done() and not until()))
        return await life.ended()

    def has_answered(self) -> bool:
        return any(text.startswith("It is ") for text in self.phone.shown())


@pytest.fixture(scope="module")
def lives() -> Iterator[Lives]:
    with lives_of("tests.fakes.killed_agent") as lives:
        yield lives


@pytest.fixture(params=EVERY)
async def home(
    request: pytest.FixtureRequest, lives: Lives, sim: BoardSim, tmp_path: Path
) -> AsyncIterator[Home]:
    async with EVERY[request.param]() as phone, llm_server.running(tell_stories) as model:
        home = Home(lives, phone, tmp_path)
        await home.prepare(model.base_url, sim.port)
        yield home


def test_every_crash_point_has_a_name_of_its_own() -> None:
    every = crash_points()
    assert len(every) == len(set(every))
    assert len(POINTS) >= 10


@pytest.mark.parametrize("point", POINTS)
async def test_killed_there_it_answers_once_and_acts_at_most_once(
    point: str, home: Home, sim: BoardSim
) -> None:
    await home.phone.write("Turn the led on")
    await home.phone.write("What is the temperature?")
    assert await home.live(point) == -signal.SIGKILL
    await home.live("", home.has_answered)
    assert sum(value for value, _ in sim.changes("led")) <= 1
    shown = Counter(home.phone.shown())
    *first, second = shown
    told = " ".join(" ".join(first).split())
    assert told == f"The led is on. {STORY}" or (INTERRUPTED in told and len(first) == 1)
    assert second == "It is 24.5 °C."
    # Once each, but for what a platform had and nobody could know
    again = shown - Counter(dict.fromkeys(shown, 1))
    assert again.total() <= (1 if point in UNKNOWN_AT else 0), again
