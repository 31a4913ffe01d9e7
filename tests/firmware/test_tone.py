"""A tone: its driver in the real interpreter, and every end of it."""

import struct

import pytest

from agent.link import frame as codec
from tests.fakes.board_sim import BoardSim
from tests.firmware.bench import events
from tests.firmware.driving import ENDS, driven

TONE_WRITE = 43
BEEP = {"name": "beep", "kind": "tone", "pin": "PA6", "lease_ms": 10_000}


def test_a_tone_has_its_frequency_and_is_read_back(sensor_board: BoardSim) -> None:
    with driven(sensor_board, TONE_WRITE, "H", BEEP) as beep:
        for hz in (20, 440, 20_000):
            assert struct.unpack("<H", beep.write(hz)) == (hz,)
            seen = events(sensor_board, "duty", "beep")[-1]
            assert seen["hz"] == hz
            assert seen["duty"] == pytest.approx(50, abs=0.1)
        assert beep.write(0) == bytes(2)
        assert events(sensor_board, "duty", "beep")[-1]["duty"] == 0


@pytest.mark.parametrize(("end", "lease_ms"), ENDS)
def test_every_end_is_silence(sensor_board: BoardSim, end: str, lease_ms: int) -> None:
    with driven(sensor_board, TONE_WRITE, "H", {**BEEP, "lease_ms": lease_ms}) as beep:
        beep.write(880)
        assert any(one["duty"] for one in events(sensor_board, "duty", "beep"))
        beep.ended(end, lambda: events(sensor_board, "duty", "beep")[-1]["duty"] == 0)
        if end == "estop":
            assert beep.refusal(880)[0] == codec.UNSAFE_STATE


def test_what_no_loudspeaker_can_do_changes_nothing(sensor_board: BoardSim) -> None:
    with driven(sensor_board, TONE_WRITE, "H", BEEP) as beep:
        for hz in (1, 19, 20_001, 65_535):
            assert beep.refusal(hz)[0] == codec.OUT_OF_RANGE
        assert events(sensor_board, "duty", "beep")[-1]["duty"] == 0
