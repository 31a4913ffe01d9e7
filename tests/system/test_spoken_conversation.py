"""A voice message through everything: heard on the device, gate, board, answer, spoken answer.

The voice is espeak-ng's, the ears are pocketsphinx, the platform is a pretended Telegram; agent,
link and firmware are real, and nothing has a network or a model.
"""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.access.people import PersonAccount
from agent.access.roles import PersonRole
from agent.app.build import assemble, at_work
from agent.app.run import _platforms
from agent.channels.speech.base import OGG
from agent.channels.speech.espeak import EspeakSpeaker
from agent.channels.speech_settings import SpeakerSettings
from agent.config import load
from agent.link.base import BoardState
from agent.settings import Paths, Settings
from tests.fakes.board_sim import BoardSim
from tests.fakes.lent_agent import quiet_log
from tests.fakes.sounds import kept, no_sounds, programs_in
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.telegram_server import running as telegram
from tests.fakes.telegram_world import ANNA, Json
from tests.waits import wait_until

NOT_HERE = no_sounds("espeak-ng", "opusenc") or (
    "" if find_spec("pocketsphinx") else "pocketsphinx is not installed: extra speech"
)
pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
# Programs, a board and an agent, beside other tests
PATIENCE_S = 100.0
CONFIG = """
[agent]
autonomy = "full"
[provider]
kind = "offline"
[embeddings]
provider = "none"
[board]
port = "{port}"
[board.pins.heater]
pin = "PB5"
danger = "hazard"
[channels.telegram]
token = "{token}"
base_url = "{url}"
[channels.speech]
kind = "pocketsphinx"
voice = "mirror"
[channels.speech.speaker]
kind = "espeak-ng"
"""


@dataclass
class Home:
    """An agent, its board, and the telephone of its owner."""

    folder: Path
    sim: BoardSim
    server: TelegramServer

    async def say(self, sentence: str) -> None:
        """The owner records a voice message."""
        programs = programs_in(self.folder)
        sound = await EspeakSpeaker(SpeakerSettings(voice="en-us"), programs).say(sentence)
        voice = await programs.as_voice(sound, OGG)
        world = self.server.world
        name = f"voice{world.next_message}"
        recording = {**world.keep(voice.content, name), "duration": 2, "mime_type": OGG}
        await world.write(voice=recording)

    def values(self, pin: str) -> list[int]:
        """Return what was written to a pin since the start."""
        rows = [one for one in self.sim.record() if one["event"] == "pin" and one["name"] == pin]
        return [int(one["value"]) for one in rows[1:]]

    async def sent(self, field: str) -> Json:
        """Return the bot's first message that has a field."""
        return await wait_until(
            lambda: next((one for one in self.server.world.sent if field in one), None),
            PATIENCE_S,
        )


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, {"values": {}, "script": []}) as started:
        yield started


@asynccontextmanager
async def at_home(folder: Path, sim: BoardSim) -> AsyncIterator[Home]:
    async with telegram() as server:
        config = folder / "barnacle.toml"
        config.write_text(CONFIG.format(port=sim.port, token=server.token, url=server.base_url))
        paths = Paths(config, folder / "state")
        paths.state_dir.mkdir(mode=0o700)
        with quiet_log() as log:
            agent = assemble(load(config, Settings), paths, {}, log)
            owner = PersonAccount(channel="telegram", sender=str(ANNA), target=str(ANNA))
            agent.access.people.let_in(PersonRole.OWNER, owner)
            channels = _platforms(agent)
            async with at_work(agent, channels) as (dispatcher, _, tasks):
                await dispatcher.resume(tasks)
                deliver = partial(dispatcher.deliver, tasks=tasks)
                listening = [tasks.create_task(one.listen(deliver)) for one in channels]
                await wait_until(lambda: agent.boards[0].status.state is BoardState.READY)
                try:
                    yield Home(folder, sim, server)
                finally:
                    for one in listening:
                        one.cancel()
                    logging.getLogger(__name__).debug("%s", log.getvalue())


@pytest.mark.timeout(240)
async def test_a_spoken_order_is_obeyed_and_answered_aloud_and_a_hazard_is_asked_in_writing(
    tmp_path: Path, sim: BoardSim
) -> None:
    async with at_home(tmp_path, sim) as home:
        await home.say("turn the led on")
        answer = await home.sent("text")
        spoken = await home.sent("voice")
        assert "led is on" in answer["text"]
        assert home.values("led")[:1] == [1]
        # The text came first, and the voice is Ogg with the answer in it
        assert answer["message_id"] < spoken["message_id"]
        content = home.server.world.files[spoken["voice"]["file_id"]]
        voice = kept(tmp_path / "answer.ogg", content, OGG)
        assert (await programs_in(tmp_path).samples_of(voice)).duration_s > 0.5

        # `autonomy = "full"` would do it at once where it was typed
        await home.say("turn the heater on")
        question = await home.sent("reply_markup")
        assert "said aloud" in question["text"]
        assert home.values("heater") == []
        await home.server.world.press(question, "Yes")
        await wait_until(lambda: home.values("heater")[:1] == [1], PATIENCE_S)
