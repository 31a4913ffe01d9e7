"""The agent as people run it, and the floor below it: processes, each with a bot of its own.

Both ask one model service over HTTP, which streams. The agent has its embedding model, its memory
and a board; everything is kept on disk.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.access.people import PeopleStore, PersonAccount
from agent.access.roles import PersonRole
from agent.system.clock import SystemClock
from scripts.lib.bench.process import Used
from tests.fakes import board_sim, telegram_server
from tests.fakes.board_sim import BoardSim
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_world import ANNA

ROOT = Path(__file__).resolve().parents[3]
MODEL = Path(os.environ.get("BARNACLE_MODEL_DIR", ROOT / ".barnacle" / "model"))
PEOPLE = 8
_POLL_S = 25.0
_PIECES = [sys.executable, "scripts/lib"]
# As its unit has it: all threads take their memory from one heap
_UNIT = {"MALLOC_ARENA_MAX": "1"}


class FlowAgent(DaemonProcess):
    """`barnacle run`, or a piece of this folder that runs the same and writes down what it sees."""

    def __init__(self, folder: Path, config: str, piece: str) -> None:
        self.seen, self.state = folder / "seen.jsonl", folder / "state"
        more = {"BARNACLE_MODEL_DIR": str(MODEL), "BARNACLE_STAGES": str(self.seen)}
        super().__init__(folder, config, **more, **_UNIT)
        if piece:
            self.program = (str(ROOT / "scripts" / "lib"), f"bench.{piece}")

    @property
    def used(self) -> Used:
        return Used.by(self.pid)

    def end(self) -> None:
        """Kill it, if it was started."""
        if self._process is not None:
            self.kill()


@dataclass(frozen=True)
class Both:
    """The agent and the floor, with the bot that people write to.

    Args:
        people: who is let in; the first is the owner.
    """

    agent: FlowAgent
    agents: TelegramServer
    floor: "subprocess.Popen[bytes]"
    floors: TelegramServer
    people: list[int]


@contextlib.asynccontextmanager
async def opened(*, has_board: bool, piece: str = "") -> AsyncIterator[Both]:
    """Everything at work until the block ends; the agent is not started yet.

    Args:
        piece: runs the agent instead, and writes down what it sees.
    """
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="barnacle-")))
        agents = await stack.enter_async_context(telegram_server.running())
        floors = await stack.enter_async_context(telegram_server.running())
        agents.longest_poll_s = floors.longest_poll_s = _POLL_S
        model = stack.enter_context(_service())
        # Without one it looks for a board, as on a machine that has none
        board = ""
        if has_board and board_sim.unavailable_reason() is None:
            sim = stack.enter_context(BoardSim(folder, {}))
            board = f'[board]\nport = "{sim.port}"\n'
        agent = FlowAgent(folder, _config(model, agents) + board, piece)
        people = _let_in(folder / "state")
        floor = stack.enter_context(_floor(floors, model))
        stack.callback(agent.end)
        yield Both(agent, agents, floor, floors, people)


def _config(model: str, bot: TelegramServer) -> str:
    return (
        f'[provider]\nbase_url = "{model}/v1"\nmodel = "fake"\n[log]\nlevel = "error"\n'
        f'[channels.telegram]\nbase_url = "{bot.base_url}"\ntoken = "{bot.token}"\n'
    )


def _let_in(state: Path) -> list[int]:
    state.mkdir(mode=0o700)
    store = PeopleStore(state / "people.json", SystemClock())
    people = [ANNA + number for number in range(PEOPLE)]
    for number in people:
        role = PersonRole.OWNER if number == ANNA else PersonRole.USER
        account = PersonAccount(channel="telegram", sender=f"{number}", target=f"{number}")
        store.let_in(role, account, f"p{number}")
    return people


@contextlib.contextmanager
def _service() -> Iterator[str]:
    with _started([*_PIECES, "bench.turn_service"], subprocess.PIPE) as service:
        assert service.stdout is not None
        yield service.stdout.readline().decode().strip()


@contextlib.contextmanager
def _floor(bot: TelegramServer, model: str) -> "Iterator[subprocess.Popen[bytes]]":
    urls = [f"{bot.base_url}/bot{bot.token}", f"{model}/v1"]
    # Without what an environment would load at its start
    with _started([sys.executable, "-S", "-E", "scripts/lib/bench/floor.py", *urls]) as floor:
        yield floor


@contextlib.contextmanager
def _started(
    command: list[str], stdout: int = subprocess.DEVNULL
) -> "Iterator[subprocess.Popen[bytes]]":
    process = subprocess.Popen(command, stdout=stdout, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
