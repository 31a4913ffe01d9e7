"""Who writes by voice is answered by voice as well; the text is there first, whatever happens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.base import Abilities
from agent.config import Secret
from agent.errors import MessageRefused
from agent.messages import Attachment, Outbound
from agent.messaging.voice_answers import Speak
from tests.fakes.channel import FakeChannel, message
from tests.fakes.dispatching import Running, running
from tests.fakes.provider import ScriptedProvider
from tests.waits import wait_until

ANSWER = "The led is on now."


class VoiceChannel(FakeChannel):
    """Takes voice messages."""

    abilities = Abilities(takes_files=True, voice_type="audio/ogg")


class VoiceRefusingChannel(VoiceChannel):
    """Takes texts, and refuses every voice message."""

    async def send(self, message: Outbound) -> None:
        if message.files:
            raise MessageRefused("VOICE_MESSAGES_FORBIDDEN")
        await super().send(message)


class TextRefusingChannel(VoiceChannel):
    """Refuses everything."""

    async def send(self, message: Outbound) -> None:
        raise MessageRefused("no")


def speaking(folder: Path, said: list[str]) -> Speak:
    async def speak(text: str, media_type: str) -> Attachment | None:
        said.append(text)
        file = folder / f"{len(said)}.ogg"
        file.write_bytes(b"OggS")
        return Attachment(str(file), media_type, "answer", 4, is_voice=True)

    return speak


@asynccontextmanager
async def talking(
    folder: Path, channel: FakeChannel, speak: Speak | None, answer: str = ANSWER
) -> AsyncIterator[Running]:
    provider = ScriptedProvider(answer)
    async with running(folder, provider, channel) as agent:
        worker = agent.dispatcher._queues._attend
        worker._desk = replace(worker._desk, speak=speak)
        yield agent


async def hear(agent: Running, *, is_spoken: bool = True) -> None:
    said = replace(message("turn the led on"), is_spoken=is_spoken)
    await agent.dispatcher.deliver(said, agent.tasks)


async def test_the_voice_comes_after_the_text_and_is_removed_when_it_arrived(
    tmp_path: Path,
) -> None:
    channel, said = VoiceChannel(), list[str]()
    async with talking(tmp_path, channel, speaking(tmp_path, said)) as agent:
        await hear(agent)
        await channel.wait_for(2)
        await wait_until(lambda: not (tmp_path / "1.ogg").exists())
    text, voice = channel.sent
    assert (text.text, text.files) == (ANSWER, ())
    assert (voice.text, [one.is_voice for one in voice.files]) == ("", [True])
    assert said == [ANSWER]


@pytest.mark.parametrize("channel", [VoiceChannel(), FakeChannel()], ids=["typed", "no-voice"])
async def test_nothing_is_said_to_who_types_or_where_no_voice_can_go(
    tmp_path: Path, channel: FakeChannel
) -> None:
    said: list[str] = []
    async with talking(tmp_path, channel, speaking(tmp_path, said)) as agent:
        await hear(agent, is_spoken=not isinstance(channel, VoiceChannel))
        assert await channel.wait_for(1) == [ANSWER]
        await wait_until(agent.is_idle)
    assert said == []


async def broken(_text: str, _media_type: str) -> Attachment | None:
    raise RuntimeError("the engine has a fault")


async def too_long(_text: str, _media_type: str) -> Attachment | None:
    return None


@pytest.mark.parametrize("speak", [broken, too_long, None])
async def test_what_is_not_spoken_costs_no_text(
    tmp_path: Path, speak: Speak | None, caplog: pytest.LogCaptureFixture
) -> None:
    channel = VoiceChannel()
    async with talking(tmp_path, channel, speak) as agent:
        await hear(agent)
        assert await channel.wait_for(1) == [ANSWER]
        if speak is broken:
            await wait_until(lambda: "voice: answer not spoken" in caplog.text)
        await wait_until(agent.is_idle)
    assert len(channel.sent) == 1


async def test_a_voice_that_the_platform_refuses_is_a_dead_letter_and_nothing_more(
    tmp_path: Path,
) -> None:
    channel = VoiceRefusingChannel()
    async with talking(tmp_path, channel, speaking(tmp_path, [])) as agent:
        await hear(agent)
        assert await channel.wait_for(1) == [ANSWER]
        await wait_until(agent.is_idle)


async def test_without_its_text_no_answer_is_spoken(tmp_path: Path) -> None:
    said: list[str] = []
    async with talking(tmp_path, TextRefusingChannel(), speaking(tmp_path, said)) as agent:
        await hear(agent)
        await wait_until(agent.is_idle)
    assert said == []


async def test_no_key_of_ours_is_said_aloud(tmp_path: Path) -> None:
    key, said, channel = "a-key-that-was-read", list[str](), VoiceChannel()
    speak = speaking(tmp_path, said)
    async with talking(tmp_path, channel, speak, f"The key is {key}.") as agent:
        agent.dispatcher._delivery._redactor.add(Secret(key))
        await hear(agent)
        await channel.wait_for(2)
    assert said
    assert key not in said[0]
    assert key not in channel.sent[0].text
