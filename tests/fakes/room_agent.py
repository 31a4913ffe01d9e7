"""A whole agent with a room, a board and assistants by Wyoming; its owner's chat is elsewhere.

The voice is espeak-ng's, the ears are pocketsphinx, the sound card is a plugin of ALSA's own;
agent, link and firmware are real, and nothing has a network or a model.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

from agent.access.people import PersonAccount
from agent.access.roles import PersonRole
from agent.app.build import assemble, at_work
from agent.app.run import _assistants, _own_speech, _platforms
from agent.channels.base import Answer
from agent.channels.speech.base import OGG, WAV
from agent.channels.speech.espeak import EspeakSpeaker
from agent.channels.speech.pcm import RATE_HZ, SAMPLE_BYTES, Pcm
from agent.channels.speech_settings import SpeakerSettings
from agent.channels.voice.channel import VoiceChannel
from agent.config import load
from agent.gateway.assistants.wyoming.channel import WyomingChannel
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
# Programs, a board and an agent, beside other tests
PATIENCE_S = 150.0
# A sentence is written down within it, or nobody heard it
_AGAIN_S = 15.0
CONFIG = """
[agent]
autonomy = "full"
[provider]
kind = "offline"
[embeddings]
provider = "none"
[board]
port = "{port}"
[board.pins.pump]
pin = "PB4"
[board.pins.heater]
pin = "PB5"
danger = "hazard"
[channels.voice]
trust = "{trust}"
wake = "{wake}"
wake_server = "{wake_server}"
[channels.speech]
kind = "pocketsphinx"
[channels.speech.speaker]
kind = "espeak-ng"
[wyoming]
listen = "127.0.0.1:0"
"""


@dataclass
class Home:
    """An agent with a room and a board, and its owner's chat, which is elsewhere."""

    folder: Path
    sim: BoardSim
    room: Room
    owner: AskedChannel
    channel: VoiceChannel
    # Where assistants speak to the agent, by Wyoming
    port: Callable[[], int]

    async def say(self, sentence: str) -> None:
        """Somebody in the room says it."""
        pcm = await spoken(self.folder, sentence)
        await asyncio.to_thread(self.room.play, pcm)

    async def play_until(self, pcm: Pcm, heard: Callable[[], bool]) -> None:
        """Play it until it is heard: while an answer is spoken, the room is deaf."""
        async with asyncio.timeout(PATIENCE_S):
            while not heard():
                await wait_until(lambda: not self.channel.is_deaf, PATIENCE_S)
                await asyncio.to_thread(self.room.play, pcm)
                with contextlib.suppress(AssertionError):
                    await wait_until(heard, _AGAIN_S)

    async def say_until(self, sentence: str, heard: Callable[[], bool]) -> None:
        """Somebody says it, and again, until it is heard."""
        await self.play_until(await spoken(self.folder, sentence), heard)

    def values(self, pin: str) -> list[int]:
        """Return what was written to a pin since the start."""
        rows = [one for one in self.sim.record() if one["event"] == "pin" and one["name"] == pin]
        return [int(one["value"]) for one in rows[1:]]

    async def answer_s(self) -> float:
        """Return how long the loudspeaker has spoken when it is silent again."""
        await wait_until(lambda: self.room.said and not self.channel.is_deaf, PATIENCE_S)
        return len(self.room.said) / SAMPLE_BYTES / RATE_HZ


async def spoken(folder: Path, sentence: str) -> Pcm:
    programs = programs_in(folder)
    sound = await EspeakSpeaker(SpeakerSettings(voice="en-us"), programs).say(sentence)
    voice = await programs.as_voice(sound, OGG)
    return await programs.samples_of(kept(folder / "said", voice.content, WAV))


@contextlib.asynccontextmanager
async def at_home(
    folder: Path,
    sim: BoardSim,
    answer: Answer,
    trust: str = "guest",
    wake: str = "barnacle",
    *,
    wake_server: str = "",
) -> AsyncIterator[Home]:
    """Yield an agent at work whose owner answers every question so."""
    config = folder / "barnacle.toml"
    room_keys = {"trust": trust, "wake": wake, "wake_server": wake_server}
    config.write_text(CONFIG.format(port=sim.port, **room_keys))
    paths = Paths(config, folder / "state")
    paths.state_dir.mkdir(mode=0o700)
    owner = AskedChannel(answer)
    with (
        room_in(folder / "room") as room,
        quiet_log() as log,
        mock.patch.dict(os.environ, room.environ),
    ):
        agent = assemble(load(config, Settings), paths, {}, log)
        people = agent.access.people
        people.let_in(
            PersonRole.OWNER, PersonAccount(channel=owner.name, sender="anna", target="a")
        )
        client = PersonAccount(channel="wyoming", sender="127.0.0.1", target="")
        people.let_in(PersonRole.GUEST, client, "assistant")
        own = _own_speech(agent.settings)
        [assistants] = _assistants(agent, own)
        [channel] = _platforms(agent, own)
        assert isinstance(assistants, WyomingChannel)
        assert isinstance(channel, VoiceChannel)
        channels = (owner, assistants, channel)
        async with at_work(agent, channels) as (dispatcher, _, tasks):
            await dispatcher.resume(tasks)
            deliver = partial(dispatcher.deliver, tasks=tasks)
            listening = [tasks.create_task(one.listen(deliver)) for one in channels]
            await wait_until(lambda: agent.boards[0].status.state is BoardState.READY, PATIENCE_S)
            try:
                yield Home(folder, sim, room, owner, channel, lambda: assistants.port)
            finally:
                for one in listening:
                    one.cancel()
