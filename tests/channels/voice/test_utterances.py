"""Utterances in a stream: where they begin and end, in a quiet and a loud room."""

import random
from array import array
from collections.abc import Sequence

import pytest

from agent.channels.speech.pcm import RATE_HZ, Pcm
from agent.channels.voice.utterances import MAX_UTTERANCE_S, UtteranceCutter, level_of


def noise(duration_s: float, level: float, seed: int = 1, offset: int = 0) -> bytes:
    chance = random.Random(seed)
    count = int(duration_s * RATE_HZ)
    samples = (round(offset + chance.gauss(0, level)) for _ in range(count))
    return array("h", (max(-32768, min(32767, one)) for one in samples)).tobytes()


def cut(stream: bytes, piece: int = 3200) -> list[Pcm]:
    cutter = UtteranceCutter()
    pieces = (stream[at : at + piece] for at in range(0, len(stream), piece))
    return [one for each in pieces for one in cutter.feed(each)]


def lengths(found: Sequence[Pcm]) -> list[float]:
    return [one.duration_s for one in found]


@pytest.mark.parametrize("room", [5.0, 150.0, 600.0])
def test_a_sentence_is_cut_out_of_the_room_with_its_soft_ends(room: float) -> None:
    stream = noise(8, room) + noise(1.2, 8 * room + 800) + noise(2, room)
    # A loud room is not known to be one in its first seconds
    *before, found = cut(stream)
    assert len(before) <= (room > 500)
    assert 1.2 + 0.7 <= found.duration_s <= 1.2 + 0.7 + 0.6


@pytest.mark.parametrize("piece", [1, 777, 3200, 1_000_000])
def test_it_does_not_matter_in_which_pieces_it_comes(piece: int) -> None:
    stream = noise(1, 20) + noise(0.8, 2000) + noise(1, 20)
    if piece == 1:
        stream = stream[: RATE_HZ * 4]
    assert cut(stream, piece) == cut(stream)


def test_a_breath_within_a_sentence_is_not_its_end() -> None:
    stream = noise(1, 20) + noise(0.6, 2000) + noise(0.4, 20) + noise(0.6, 2000) + noise(1, 20)
    assert len(cut(stream)) == 1


def test_a_click_is_no_utterance_and_a_fan_becomes_the_room() -> None:
    assert cut(noise(1, 20) + noise(0.06, 9000) + noise(1, 20)) == []
    fan = noise(40, 400)
    assert len(cut(noise(1, 20) + fan)) <= 1
    assert len(cut(noise(1, 20) + fan + noise(1, 4000) + noise(1, 400))) >= 1


def test_what_goes_on_for_ever_is_dropped_and_fills_no_memory() -> None:
    cutter = UtteranceCutter()
    chance = random.Random(3)
    found = []
    for number in range(600):
        level = 6000 if number % 3 else chance.choice((10, 6000))
        found += [*cutter.feed(noise(0.1, level, number))]
    assert cutter.too_long >= 1
    assert all(length <= MAX_UTTERANCE_S + 1 for length in lengths(found))


def test_a_reset_forgets_what_has_begun() -> None:
    cutter = UtteranceCutter()
    assert [*cutter.feed(noise(1, 20) + noise(0.5, 3000))] == []
    cutter.reset()
    assert [*cutter.feed(noise(2, 20))] == []


def test_an_offset_of_the_microphone_is_no_sound() -> None:
    assert level_of(array("h", [900] * 320).tobytes()) == 0.0
    assert level_of(b"") == 0.0
    assert cut(noise(3, 10, offset=2000)) == []
