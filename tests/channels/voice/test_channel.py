"""A room whose devices and engines are ours: what is sent has been said aloud."""

import asyncio
from array import array
from collections.abc import AsyncGenerator, AsyncIterator

import pytest

from agent.channels.speech.pcm import RATE_HZ, Pcm
from agent.channels.speech_settings import VoiceSettings
from agent.channels.voice.alsa import BLOCK_S, Loudspeaker, Microphone
from agent.channels.voice.channel import LATE_S, NAME, ROOM, RoomEquipment, VoiceChannel
from agent.errors import ChannelUnavailable, MessageRefused, SpeechUnavailable
from agent.messages import Attachment, Inbound, Outbound
from agent.text.echo import OwnSpeech
from tests.fakes.clock import SteppedClock
from tests.waits import wait_until

_HUSH = bytes(int(RATE_HZ * BLOCK_S) * 2)
_LOUD = array("h", [*[9000] * 8, *[-9000] * 8] * (len(_HUSH) // 32)).tobytes()
# A sentence, and the pause that ends it
SENTENCE = [*[_LOUD] * 6, *[_HUSH] * 10]
REMINDER = Outbound(7, NAME, ROOM, "Water the tomatoes.", "")


class PlayedMicrophone(Microphone):
    """Hears what it is given, and then nothing until it is pulled out."""

    def __init__(self) -> None:
        super().__init__("default", {})
        self.is_gone = asyncio.Event()
        self.heard = [_HUSH]

    async def blocks(self, silent_limit_s: float = 0) -> AsyncGenerator[bytes, None]:
        for block in self.heard:
            yield block
        await self.is_gone.wait()
        raise ChannelUnavailable("the microphone is gone")


class TroubledLoudspeaker(Loudspeaker):
    """Fails as often as it is told to, and plays for as long as it is held."""

    def __init__(self) -> None:
        super().__init__("default", {})
        self.failures = 0
        self.played = 0
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def play(self, pcm: Pcm) -> None:
        if self.failures:
            self.failures -= 1
            raise ChannelUnavailable("the loudspeaker is gone")
        await self.may_end.wait()
        self.played += 1


class Equipment(RoomEquipment):
    """Devices of a room, and engines that say and hear nothing."""

    def __init__(self, clock: SteppedClock) -> None:
        self._clock = clock
        self.ears = PlayedMicrophone()
        self.mouth = TroubledLoudspeaker()
        self.is_mute = False
        # What is written down, and how long that takes
        self.written: list[str] = []
        self.slowness_s = 0.0
        super().__init__(self.ears, self.mouth, self, self, None, OwnSpeech())  # type: ignore[arg-type]

    async def words(self, speech: Attachment) -> tuple[str, str]:
        self._clock.advance(self.slowness_s)
        return (self.written.pop(0), "") if self.written else ("", "no words")

    async def spoken(self, text: str) -> Pcm:
        if self.is_mute:
            raise SpeechUnavailable("no voice is there")
        return Pcm(bytes(320), RATE_HZ)


class House:
    """A voice channel that listens."""

    def __init__(self, clock: SteppedClock) -> None:
        self.room = Equipment(clock)
        self.channel = VoiceChannel(self.room, VoiceSettings(), clock)
        self.heard: list[str] = []

    async def listen(self) -> None:
        async def deliver(inbound: Inbound) -> None:
            self.heard.append(inbound.text)

        await self.channel.listen(deliver)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
async def house(clock: SteppedClock) -> AsyncIterator[House]:
    made = House(clock)
    listening = asyncio.ensure_future(made.listen())
    await wait_until(lambda: made.channel.attends(REMINDER))
    yield made
    listening.cancel()
    await asyncio.wait([listening])


async def test_what_has_been_sent_has_been_said(house: House) -> None:
    house.room.mouth.may_end.clear()
    sending = asyncio.ensure_future(house.channel.send(REMINDER))
    await wait_until(lambda: house.channel.is_deaf)
    assert not sending.done()
    house.room.mouth.may_end.set()
    await sending
    assert house.room.mouth.played == 1


async def test_what_the_loudspeaker_did_not_say_was_not_sent(house: House) -> None:
    house.room.mouth.failures = 1
    with pytest.raises(ChannelUnavailable, match="loudspeaker is gone"):
        await house.channel.send(REMINDER)
    assert "loudspeaker is gone" in house.channel.gap
    await house.channel.send(REMINDER)
    assert house.room.mouth.played == 1


async def test_what_cannot_be_said_for_long_holds_up_nobody(
    house: House, clock: SteppedClock
) -> None:
    house.room.is_mute = True
    with pytest.raises(ChannelUnavailable, match="no voice is there"):
        await house.channel.send(REMINDER)
    clock.advance(LATE_S)
    with pytest.raises(MessageRefused, match="no voice is there"):
        await house.channel.send(REMINDER)


async def test_two_things_are_said_one_after_the_other(house: House) -> None:
    house.room.mouth.may_end.clear()
    sending = [asyncio.ensure_future(house.channel.send(REMINDER)) for _ in range(2)]
    await wait_until(lambda: house.channel.is_deaf)
    house.room.mouth.may_end.set()
    await asyncio.gather(*sending)
    assert house.room.mouth.played == 2


async def test_it_stays_deaf_while_it_speaks_though_the_microphone_comes_back(
    house: House,
) -> None:
    house.room.mouth.may_end.clear()
    sending = asyncio.ensure_future(house.channel.send(REMINDER))
    await wait_until(lambda: house.channel.is_deaf)
    house.room.ears.is_gone.set()
    await wait_until(lambda: not house.channel.attends(REMINDER))
    assert house.channel.is_deaf
    house.room.mouth.may_end.set()
    await sending


async def test_who_called_goes_on_in_time_however_slow_the_recogniser_is(
    clock: SteppedClock,
) -> None:
    house = House(clock)
    house.room.ears.heard = [*[_HUSH] * 10, *SENTENCE, *SENTENCE]
    house.room.written = ["Barnacle?", "turn the led on"]
    house.room.slowness_s = 10.0
    listening = asyncio.ensure_future(house.listen())
    try:
        await wait_until(lambda: house.heard)
        assert house.heard == ["turn the led on"]
    finally:
        listening.cancel()
        await asyncio.wait([listening])
