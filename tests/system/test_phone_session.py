"""The owner pairs a phone, asks for the pump and says yes; the record tells what became of it.

The session that the README shows, on real parts: a Bot API server, the agent as a service, the
link, the firmware. `SHOW=1` prints it.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.chat_process import chat_environ
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.llm_server import Call, Json, LlmServer, Reply, streamed
from tests.fakes.llm_server import running as model
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_server import running as telegram
from tests.waits import wait_until

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))

ASKED = "Give the basil a splash, please"
ON = Call("board_gpio_write", '{"pin":"pump","value":"on"}', "on")
OFF = Call("board_gpio_write", '{"pin":"pump","value":"off"}', "off")
DONE = "Done: the **pump** ran for a moment and is off again."
CONFIG = """
[provider]
base_url = "{model}"
model = "m"
[embeddings]
provider = "none"
[board]
port = "{board}"
[channels.telegram]
token = "{token}"
base_url = "{telegram}"
[agent.rules.pump]
tool = "board_*"
where = {{ pin = "pump", value = "on" }}
verdict = "ask"
"""


def answers(request: Json) -> Reply:
    """A model that uses the pump and says what came of it, no faster than one reads."""
    messages = request["messages"]
    assert isinstance(messages, list)
    match sum(message["role"] == "tool" for message in messages):
        case 0:
            return streamed("I will use the pump. ", ON)
        case 1:
            return streamed("", OFF)
    return streamed(DONE, piece_bytes=200, pause_s=0.25)


@dataclass(frozen=True)
class Home:
    """Everything there is in the room, and the person's phone."""

    folder: Path
    daemon: DaemonProcess
    board: BoardSim
    phone: TelegramServer
    service: LlmServer

    def barnacle(self, *arguments: str) -> str:
        """What a command on the device prints."""
        done = subprocess.run(
            [sys.executable, "-m", "agent.cli.main", *arguments],
            env={**chat_environ(self.folder, (self.folder / "barnacle.toml").read_text())},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    async def sees(self, what: Callable[[], Any]) -> Any:
        """Wait until it is on the phone."""
        return await wait_until(what)

    def question(self) -> Json | None:
        """The message with buttons."""
        mine = self.phone.world.messages.values()
        return next((one for one in mine if one.get("reply_markup")), None)


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    (tmp_path / "board").mkdir()
    async with model(answers) as service, telegram() as phone:
        with BoardSim(tmp_path / "board") as board:
            config = CONFIG.format(
                model=service.base_url, board=board.port, token=phone.token, telegram=phone.base_url
            )
            daemon = DaemonProcess(tmp_path, config)
            await asyncio.to_thread(daemon.start)
            try:
                yield Home(tmp_path, daemon, board, phone, service)
            finally:
                await asyncio.to_thread(daemon.kill)


async def test_the_pump_runs_once_the_owner_has_tapped_yes(home: Home) -> None:
    world = home.phone.world
    # Nobody is let in who has not been told the code
    await world.write("hello?")
    stranger = await home.sees(world.shown)
    assert home.service.requests == []

    line = (await asyncio.to_thread(home.barnacle, "pair")).splitlines()[0]
    await world.write(line)
    await home.sees(lambda: len(world.shown()) > len(stranger))

    await world.write(ASKED)
    question = await home.sees(home.question)
    assert "pump" in question["text"]
    assert home.board.changes("pump")[-1][0] == 0
    await world.press(question, _yes(question))
    await home.sees(lambda: any("off again" in text for text in world.shown()))
    assert [value for value, _ in home.board.changes("pump")][-2:] == [1, 0]

    # It grew before the person's eyes, and ended as one message
    growing = [one["text"] for one in world.drafts]
    assert any("Done" in text and "off again" not in text for text in growing)
    assert sum("off again" in text for text in world.shown()) == 1

    trail = await asyncio.to_thread(home.barnacle, "audit", "tail")
    verified = await asyncio.to_thread(home.barnacle, "audit", "verify")
    rows = [row.split()[3:] for row in trail.splitlines() if "board_gpio_write" in row]
    assert [row[0] for row in rows] == ["ask", "allow", "done", "allow", "done"]
    assert rows[2][1:3] == ["read", "back"]
    assert verified.startswith("intact: 6 rows")
    _show(home, line, trail, verified)


def _yes(question: Json) -> str:
    markup: Any = question["reply_markup"]
    labels = [str(key["text"]) for row in markup["inline_keyboard"] for key in row]
    return next(label for label in labels if "yes" in label.lower())


def _show(home: Home, line: str, trail: str, verified: str) -> None:
    if not os.environ.get("SHOW"):
        return
    world = home.phone.world
    said = [
        f"{'Barnacle' if message['from']['is_bot'] else 'Anna'}: {message.get('text', '')}"
        for _, message in sorted(world.messages.items())
    ]
    grown = json.dumps([one["text"] for one in world.drafts], ensure_ascii=False)
    told = [*said, grown, line, trail, verified, home.daemon.log()]
    sys.stderr.write("\n".join(told))
