"""F09: corrupted bytes and noise. The firmware under random frames: tests/firmware/test_fuzz.py."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.link.frame import RAW_LIMIT_BYTES, REQUEST, Decoder, Frame, encode
from firmware.host.wire import Wire
from tests.fakes.board_sim import BoardSim

NONCE = 0xC0FFEE01
WRITE = Frame(REQUEST, 3, 2, 16, bytes([16, 1, 2, 232, 3, 0, 1]))
NOISE_BYTES = 100_000
# An edit of a frame on the wire: where, how many bytes go, what comes instead
EDITS = st.lists(
    st.tuples(st.integers(0, 17), st.integers(0, 6), st.binary(max_size=6)), min_size=1, max_size=4
)


@given(EDITS)
def test_bursts_insertions_and_deletions_bring_nothing_that_was_not_sent(
    edits: list[tuple[int, int, bytes]],
) -> None:
    spoiled = bytearray(encode(WRITE, NONCE))
    for at, gone, put in edits:
        spoiled[at : at + gone] = put
    frames = Decoder(NONCE).feed(bytes(spoiled) + b"\0")
    # An edit may change nothing, or only the delimiters
    assert frames in ([], [WRITE])
    assert not frames or encode(WRITE, NONCE).strip(b"\0") in bytes(spoiled)


@pytest.mark.parametrize("seed", range(10))
def test_after_a_long_noise_the_next_frame_is_understood(seed: int) -> None:
    noise = random.Random(seed).randbytes(NOISE_BYTES)
    decoder = Decoder(NONCE)
    assert decoder.feed(noise) == []
    assert len(decoder._raw) == RAW_LIMIT_BYTES + 1
    assert decoder.feed(b"\0" + encode(WRITE, NONCE)) == [WRITE]
    assert decoder.dropped > 0


def seen(sim: BoardSim) -> list[dict[str, Any]]:
    """Everything but a pass that took long, which is the machine's."""
    return [event for event in sim.record() if event["event"] != "stall"]


def test_the_firmware_understands_the_next_call_after_noise_and_moves_nothing(
    sim: BoardSim,
) -> None:
    with Wire(str(sim.port)) as wire:
        wire.greet()
        before = seen(sim)
        dropped = wire.status()[4]
        wire.write(bytes(range(256)) * (NOISE_BYTES // 256) + b"\0")
        assert wire.status()[4] > dropped
        assert seen(sim) == before
