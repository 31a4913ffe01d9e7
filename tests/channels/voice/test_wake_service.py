"""The wake word by a service of the house: openWakeWord, the library's, and those that lie."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable

import pytest

from agent.channels.speech import wyoming
from agent.channels.speech.wyoming import WyomingService
from agent.channels.speech_settings import VoiceSettings
from agent.channels.voice import wake
from agent.channels.voice.wake import ATTENTIVE_S, WakeService
from agent.errors import SpeechUnavailable
from agent.system.clock import SystemClock
from scripts.lib.bench.recordings import spoken
from tests.fakes.sounds import no_sounds
from tests.fakes.wake_service import library_server, no_wake_service, wake_service
from tests.fakes.wyoming_house import WyomingHouse, event, wyoming_house
from tests.oracles import clients
from tests.waits import PATIENCE_S, wait_until

WORD, PHRASE = "hey_jarvis_v0.1", "hey jarvis"
BLOCK_BYTES = 3200
SILENCE, SOUND = bytes(BLOCK_BYTES), b"\1\2" * (BLOCK_BYTES // 2)
WAKE = {"wake": [{"name": "openwakeword", "models": [{"name": WORD}, {"name": "ok_nabu_v0.1"}]}]}
NO_VOICE = no_wake_service() or no_sounds("espeak-ng", "opusenc")


def house_of(**more: object) -> WyomingHouse:
    return WyomingHouse(**{"wakes": WORD, "info": WAKE, **more})


@contextlib.asynccontextmanager
async def listening(server: str, phrase: str = PHRASE) -> AsyncIterator[WakeService]:
    service = WakeService(WyomingService(server), phrase, SystemClock())
    running = asyncio.ensure_future(service.run())
    try:
        yield service
    finally:
        running.cancel()
        await asyncio.wait({running})


async def hear(service: WakeService, blocks: Iterable[bytes]) -> tuple[float, float]:
    """Let it hear them as fast as it takes them; when that began and ended."""
    await wait_until(lambda: not service.trouble)
    begun_s = service.heard_s
    for block in blocks:
        service.give(block)
        await wait_until(service._sound.empty)
    return begun_s, service.heard_s


async def test_what_is_said_with_the_word_is_for_the_agent_and_nothing_after_it() -> None:
    async with wyoming_house(house_of()) as house, listening(house.server) as service:
        begun_s, ended_s = await hear(service, [SILENCE, SOUND, SILENCE])
        assert await service.called_in(begun_s, ended_s)
        assert service.order_in("Hey Jarvis, turn the led on.", ended_s) == "turn the led on."
        after = await hear(service, [SILENCE, SILENCE])
        assert not await service.called_in(*after)
    asked = [data for kind, data, _ in house.heard if kind == "detect"]
    assert asked == [{"names": [WORD]}]


async def test_without_the_word_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake, "LATE_S", 0.05)
    async with wyoming_house(house_of(wakes="")) as house, listening(house.server) as service:
        assert not await service.called_in(*await hear(service, [SOUND, SOUND]))


async def test_another_word_of_the_service_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake, "LATE_S", 0.05)
    other = house_of(wakes="ok_nabu_v0.1")
    async with wyoming_house(other) as house, listening(house.server) as service:
        assert not await service.called_in(*await hear(service, [SOUND]))


async def test_a_service_that_tells_late_and_often_calls_once() -> None:
    async with wyoming_house(house_of(tells=5)) as house, listening(house.server) as service:
        await wait_until(lambda: not service.trouble)
        service.give(SILENCE)
        service.give(SOUND)
        # Nothing of it was sent before this
        assert await service.called_in(0.0, service.heard_s)
        assert service.order_in("hey jarvis stop", service.heard_s) == "stop"
        assert not await service.called_in(0.0, service.heard_s)


async def test_the_word_alone_waits_for_the_sentence_after_it_but_not_for_ever() -> None:
    async with wyoming_house(house_of()) as house, listening(house.server) as service:
        begun_s, ended_s = await hear(service, [SOUND])
        assert await service.called_in(begun_s, ended_s)
        assert service.order_in("Hey, Jarvis?", ended_s) == ""
        assert await service.called_in(ended_s + 3, ended_s + 5)
        service.trouble = "nothing comes any more"
        assert not await service.called_in(ended_s + ATTENTIVE_S, ended_s + ATTENTIVE_S + 1)


async def test_a_call_of_the_next_sentence_is_not_for_the_one_before() -> None:
    async with wyoming_house(house_of()) as house, listening(house.server) as service:
        before = await hear(service, [SILENCE] * 4)
        assert await service.called_in(*await hear(service, [SILENCE, SOUND, SILENCE]))
        assert not await service.called_in(*before)


@pytest.mark.parametrize("told", [None, -5, 10**15, True, "now", 0.5])
async def test_a_time_that_is_none_is_now(told: object) -> None:
    async with wyoming_house(house_of(wakes="")) as house, listening(house.server) as service:
        _, ended_s = await hear(service, [SILENCE] * 20)
        service._note_call(told)
        assert [*service._calls] == [ended_s]


HOSTILE = {
    "gone": (b"", "left before"),
    "page": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is not understood"),
    "lie": (b'{"type": "detection", "payload_length": 99999999}\n', "is not understood"),
    "flood": (event("detection", name="other") * 60, "too many events"),
    "error": (event("error", text="no\x1b model"), "says: no model"),
}


@pytest.mark.parametrize("raw", HOSTILE)
async def test_a_hostile_service_calls_nobody_and_is_told(
    raw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wyoming, "MAX_EVENTS", 50)
    said, reason = HOSTILE[raw]
    async with wyoming_house(house_of(raw=said)) as house, listening(house.server) as service:
        await wait_until(lambda: reason in service.trouble)
        service.give(SOUND)
        assert not await service.called_in(0.0, service.heard_s)


async def test_a_service_that_comes_back_is_heard_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake, "AGAIN_S", 0.01)
    async with wyoming_house(house_of()) as house:
        pass
    async with listening(house.server) as service:
        await wait_until(lambda: "could not be reached" in service.trouble)
        async with wyoming_house(house_of()) as again:
            service._server = WyomingService(again.server)
            await wait_until(lambda: not service.trouble)
            assert await service.called_in(*await hear(service, [SOUND]))


@pytest.mark.parametrize("info", [{"wake": 3}, {"wake": [3]}, {"asr": [{"name": "whisper"}]}])
async def test_a_server_without_wake_words_is_said(info: dict[str, object]) -> None:
    async with wyoming_house(house_of(info=info)) as house:
        service = WakeService(WyomingService(house.server), PHRASE, SystemClock())
        with pytest.raises(SpeechUnavailable, match="no wake word is heard there"):
            await service.word()


@pytest.mark.parametrize("phrase", ["ok nabu", "ok_nabu", "OK Nabu"])
async def test_a_word_is_found_by_its_phrase(phrase: str) -> None:
    async with wyoming_house(house_of()) as house:
        service = WakeService(WyomingService(house.server), phrase, SystemClock())
        assert await service.word() == "ok_nabu_v0.1"


async def test_a_word_that_is_not_there_is_said_with_those_that_are() -> None:
    async with wyoming_house(house_of()) as house:
        service = WakeService(WyomingService(house.server), "barnacle", SystemClock())
        with pytest.raises(SpeechUnavailable, match=r"'barnacle'.*: hey jarvis, ok nabu"):
            await service.word()


def test_a_service_needs_a_word() -> None:
    with pytest.raises(ValueError, match="wake is missing"):
        VoiceSettings(wake="", wake_server="tcp://127.0.0.1:10400")


async def test_a_server_of_the_library_is_understood() -> None:
    clients.needed()
    async with library_server() as server, listening(server) as service:
        assert await service.word() == WORD
        assert await service.called_in(*await hear(service, [SILENCE, SOUND]))


@pytest.mark.skipif(bool(NO_VOICE), reason=NO_VOICE)
async def test_openwakeword_hears_its_word_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake, "LATE_S", 3.0)
    async with wake_service() as server, listening(server) as service:
        other = await hear(service, blocks_of("turn the kitchen light on", "en-us"))
        assert not await service.called_in(*other)
        monkeypatch.setattr(wake, "LATE_S", PATIENCE_S)
        called = await hear(service, blocks_of("hey jarvis", "en-us"))
        assert await service.called_in(*called)


@pytest.mark.skipif(bool(NO_VOICE), reason=NO_VOICE)
async def test_openwakeword_names_its_words() -> None:
    async with wake_service() as server:
        service = WakeService(WyomingService(server), "barnacle", SystemClock())
        with pytest.raises(SpeechUnavailable, match=r"hey jarvis"):
            await service.word()
        service = WakeService(WyomingService(server), "ok nabu", SystemClock())
        assert await service.word() == "ok_nabu_v0.1"


def blocks_of(sentence: str, voice: str) -> Iterable[bytes]:
    samples = spoken(sentence, voice).samples
    # A room is heard all the time: the models look at the two seconds before, too
    whole = SILENCE * 30 + samples + bytes(-len(samples) % BLOCK_BYTES) + SILENCE * 10
    return [whole[at : at + BLOCK_BYTES] for at in range(0, len(whole), BLOCK_BYTES)]
