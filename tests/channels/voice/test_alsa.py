"""Microphone and loudspeaker by alsa-lib and its own programs."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.channels.speech.pcm import RATE_HZ, Pcm
from agent.channels.voice.alsa import Loudspeaker, Microphone
from agent.errors import ChannelRefused, ChannelUnavailable
from tests.fakes.room import Room, no_alsa, room_in

NOT_HERE = no_alsa()
needs_alsa = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
TONE = Pcm(b"\x10\x20" * RATE_HZ, RATE_HZ)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    with room_in(tmp_path) as made:
        yield made


@needs_alsa
async def test_what_is_played_into_the_room_is_heard(room: Room) -> None:
    # More than the pipe holds
    playing = asyncio.ensure_future(asyncio.to_thread(room.play, Pcm(b"\x01\x02" * 8000, RATE_HZ)))
    heard = b""
    async with contextlib.aclosing(Microphone("mic", room.environ).blocks()) as blocks:
        async for block in blocks:
            heard += block
            if heard.count(b"\x01\x02") >= 8000:
                break
    room.end()
    await playing
    assert set(heard) == {0, 1, 2}


@needs_alsa
async def test_a_sound_is_played_whole_at_the_rate_of_the_device(room: Room) -> None:
    await Loudspeaker("default", room.environ).play(TONE)
    # The program fills its last period with silence
    assert room.said.rstrip(b"\0") == TONE.samples
    await Loudspeaker("default", room.environ).play(Pcm(b"\x10\x20" * 22_050, 22_050))
    assert len(room.said.rstrip(b"\0")) == pytest.approx(2 * RATE_HZ, rel=0.02)


@needs_alsa
async def test_a_device_that_is_not_there_is_named_with_what_to_do(room: Room) -> None:
    with pytest.raises(ChannelUnavailable, match=r"'usb' cannot be used.*aplay -L"):
        await Loudspeaker("usb", room.environ).play(TONE)
    with pytest.raises(ChannelUnavailable, match=r"'usb' cannot be used.*arecord -L"):
        await anext(Microphone("usb", room.environ).blocks())


@needs_alsa
async def test_a_microphone_that_gives_nothing_has_a_limit(tmp_path: Path) -> None:
    silent = Room(tmp_path)
    with pytest.raises(ChannelUnavailable, match="it gives no sound"):
        await anext(Microphone("mic", silent.environ).blocks(0.2))
    silent.close()


async def test_programs_that_are_not_installed_are_named(tmp_path: Path) -> None:
    with pytest.raises(ChannelRefused, match=r"aplay is not installed.*apt install alsa-utils"):
        await Loudspeaker("default", {}, tmp_path).play(TONE)
    with pytest.raises(ChannelRefused, match="arecord is not installed"):
        await anext(Microphone("default", {}, tmp_path).blocks())


@pytest.mark.parametrize("lines", ["", "overrun!!!\n" * 20_000])
async def test_a_microphone_that_is_pulled_out_says_the_last_word(
    tmp_path: Path, lines: str
) -> None:
    """A program that complains without end fills no memory, and blocks nothing."""
    program = tmp_path / "arecord"
    last = "arecord: pcm_read:2221: read error: No such device\n"
    (tmp_path / "complaints").write_text(f"{lines}{last}")
    program.write_text(
        f"#!/bin/sh\nhead -c 6400 /dev/zero\ncat {tmp_path}/complaints >&2\nexit 1\n"
    )
    program.chmod(0o755)
    blocks = Microphone("hw:1", {}, tmp_path).blocks()
    assert [await anext(blocks), await anext(blocks)] == [bytes(3200)] * 2
    with pytest.raises(ChannelUnavailable, match="read error: No such device: is the microphone"):
        await anext(blocks)
