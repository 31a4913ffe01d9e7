"""The whole agent as a process that is started again and again, each time to be killed or not."""

import os
import subprocess
import sys
from pathlib import Path

from tests.fakes.board_sim import BoardSim
from tests.fakes.llm_thread import LlmThread
from tests.fakes.loopback import LoopbackPlatform
from tests.waits import wait_until_sync

ROOT = Path(__file__).parents[2]
LIMIT_S = 15.0


class MortalAgent:
    """An agent with a simulated board, an obedient model and a platform on loopback."""

    def __init__(
        self, folder: Path, sim: BoardSim, model: LlmThread, platform: LoopbackPlatform
    ) -> None:
        self._folder = folder
        config = folder / "barnacle.toml"
        config.write_text(
            f'[provider]\nbase_url = "{model.server.base_url}"\nmodel = "fake"\n'
            f'[board]\nport = "{sim.port}"\n[embeddings]\nprovider = "none"\n'
        )
        (folder / "state").mkdir()
        self._command = [sys.executable, "-m", "tests.fakes.killed_agent"]
        self._command += [str(config), str(folder / "state"), str(platform.path)]

    def start(self, point: str = "") -> subprocess.Popen[bytes]:
        """It dies at that point, if it comes there."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(self._folder)}
        with (self._folder / "log").open("a") as log:
            return subprocess.Popen([*self._command, point], cwd=ROOT, env=environ, stderr=log)

    def log(self) -> str:
        return (self._folder / "log").read_text()


def wait_for(platform: LoopbackPlatform, *messages: str) -> None:
    """Until these have whole answers: all that are given here end with a full stop."""
    wait_until_sync(
        lambda: all(platform.answer(one).endswith(".") for one in messages),
        told=lambda: platform.sent,
    )
