"""A spoken order through everything: arecord, recogniser, gate, board, speaker, aplay.

The voice is espeak-ng's, the ears are pocketsphinx, the sound card is a plugin of ALSA's own; agent,
link and firmware are real, and nothing has a network or a model.
"""

import asyncio
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
from agent.channels.base import Answer
from agent.channels.speech.base import WAV
from agent.channels.speech.espeak import EspeakSpeaker
from agent.channels.speech.pcm import RATE_HZ, Pcm
from agent.channels.speech_settings import SpeakerSettings
from agent.config import load
from agent.link.base import BoardState
from agent.settings import Paths, Settings
from tests.fakes.board_sim import BoardSim
from tests.fakes.channel import AskedChannel
from tests.fakes.lent_agent import quiet_log
from tests.fakes.room import Room, no_alsa, room_in
from tests.fakes.sounds import kept, no_sounds, programs_in
from tests.waits import wait_until

NOT_HERE = (
    no_alsa()
    or no_sounds("espeak-ng", "opusenc")
    or ("" if find_spec("pocketsphinx") else "pocketsphinx is not installed: extra speech")
)
pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
# Programs, a board and an agent, beside other tests
PATIENCE_S = 150.0
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
[channels.voice]
trust = "{trust}"
[channels.speech]
kind = "pocketsphinx"
[channels.speech.speaker]
kind = "espeak-ng"
"""


@dataclass
class Home:
    """An agent with a room and a board, and its owner's chat, which is elsewhere."""

    folder: Path
    sim: BoardSim
    room: Room
    owner: AskedChannel

    async def say(self, sentence: str) -> None:
        """Somebody in the room says it."""
        pcm = await spoken(self.folder, sentence)
        await asyncio.to_thread(self.room.play, pcm)

    def values(self, pin: str) -> list[int]:
        """Return what was written to a pin since the start."""
        rows = [one for one in self.sim.record() if one["event"] == "pin" and one["name"] == pin]
        return [int(one["value"]) for one in rows[1:]]

    async def answer_s(self, before_bytes: int) -> float:
        """Return how long the loudspeaker has spoken when it is silent again."""
        await wait_until(lambda: len(self.room.said) > before_bytes, PATIENCE_S)
        return (len(self.room.said) - before_bytes) / 2 / RATE_HZ


async def spoken(folder: Path, sentence: str) -> Pcm:
    programs = programs_in(folder)
    sound = await EspeakSpeaker(SpeakerSettings(voice="en-us"), programs).say(sentence)
    voice = await programs.as_voice(sound, "audio/ogg")
    return await programs.samples_of(kept(folder / "said", voice.content, WAV))


@pytest.fixture
def sim(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BoardSim]:
    request.getfixturevalue("micropython_command")
    with BoardSim(tmp_path, {"values": {}, "script": []}) as started:
        yield started


@asynccontextmanager
async def at_home(
    folder: Path, sim: BoardSim, monkeypatch: pytest.MonkeyPatch, trust: str, yes: Answer
) -> AsyncIterator[Home]:
    config = folder / "barnacle.toml"
    config.write_text(CONFIG.format(port=sim.port, trust=trust))
    paths = Paths(config, folder / "state")
    paths.state_dir.mkdir(mode=0o700)
    owner = AskedChannel(yes)
    with room_in(folder / "room") as room, quiet_log():
        for name, value in room.environ.items():
            monkeypatch.setenv(name, value)
        agent = assemble(load(config, Settings), paths, {}, quiet := open("/dev/null", "w"))  # noqa: SIM115, PTH123, ASYNC230
        chat = PersonAccount(channel=owner.name, sender="anna", target="chat")
        agent.access.people.let_in(PersonRole.OWNER, chat)
        channels = (owner, *_platforms(agent))
        async with at_work(agent, channels) as (dispatcher, _, tasks):
            await dispatcher.resume(tasks)
            deliver = partial(dispatcher.deliver, tasks=tasks)
            listening = [tasks.create_task(one.listen(deliver)) for one in channels]
            await wait_until(lambda: agent.boards[0].status.state is BoardState.READY, PATIENCE_S)
            try:
                yield Home(folder, sim, room, owner)
            finally:
                for one in listening:
                    one.cancel()
        quiet.close()


@pytest.mark.timeout(400)
async def test_a_guests_order_is_asked_in_writing_done_with_a_yes_and_answered_aloud(
    tmp_path: Path, sim: BoardSim, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_home(tmp_path, sim, monkeypatch, "guest", Answer.YES) as home:
        await home.say("turn the led on")
        await home.say("barnacle turn the led on")
        assert await home.answer_s(0) > 0.5
        # Without the wake phrase nobody was asked
        [question] = home.owner.questions
        assert '"led"' in question.arguments_json
        assert "room" in question.reason
        assert home.values("led")[:1] == [1]


@pytest.mark.timeout(400)
async def test_what_may_hurt_is_never_done_by_voice_alone_whoever_speaks(
    tmp_path: Path, sim: BoardSim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`trust = "user"` and `autonomy = "full"` switch the led at once, and the heater never."""
    async with at_home(tmp_path, sim, monkeypatch, "user", Answer.NO) as home:
        await home.say("barnacle turn the led on")
        await home.answer_s(0)
        assert home.values("led")[:1] == [1]
        asked = len(home.owner.questions)
        said = len(home.room.said)
        await wait_until(lambda: len(home.room.said) >= said, PATIENCE_S)
        await home.say("barnacle turn the heater on")
        await wait_until(lambda: len(home.owner.questions) > asked, PATIENCE_S)
        assert "said aloud" in home.owner.questions[-1].reason
        await home.answer_s(said)
        assert home.values("heater") == []
