import pytest

from firmware.host.wire import Wire
from scripts.lib.fuzz.campaign import campaign
from scripts.lib.fuzz.tail import Tail
from tests.fakes.board_sim import BoardSim

# Half of what the suite shows, so that a busy machine has time for each
FRAMES = 50_000


@pytest.mark.parametrize("seed", [7, 8])
def test_no_frame_moves_a_pin_but_a_sound_request_of_the_session(
    own_board: BoardSim, seed: int
) -> None:
    record = Tail(own_board.port.with_name("board.jsonl"))
    found = campaign(own_board, FRAMES, seed, told=lambda _frames: None)
    assert (found.unintended, found.faults, found.silences) == (0, 0, 0)
    assert found.frames == FRAMES
    # It was heard, and what was sound was done
    assert found.accepted > FRAMES / 4
    assert found.dropped > FRAMES / 2
    assert 0 < found.changes <= found.writes_ran <= found.writes_sent
    assert found.updates_ran > 0
    assert found.reflexes_ran > 0
    assert found.ruled > 0
    assert [event["event"] for event in record.read()].count("boot") == 0
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        assert wire.status()[2] == 0
