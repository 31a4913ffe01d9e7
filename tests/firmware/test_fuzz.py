from firmware.host.wire import Wire
from scripts.lib.fuzz.campaign import Tail, campaign
from tests.fakes.board_sim import BoardSim

FRAMES = 100_000


def test_no_frame_moves_a_pin_but_a_sound_request_of_the_session(own_board: BoardSim) -> None:
    record = Tail(own_board.port.with_name("board.jsonl"))
    found = campaign(own_board, FRAMES, seed=7, told=lambda _frames: None)
    assert (found.unintended, found.faults, found.silences) == (0, 0, 0)
    assert found.frames == FRAMES
    # It was heard, and what was sound was done
    assert found.accepted > FRAMES / 4
    assert found.dropped > FRAMES / 2
    assert 0 < found.changes <= found.writes_ran <= found.writes_sent
    assert [event["event"] for event in record.read()].count("boot") == 0
    with Wire(str(own_board.port)) as wire:
        wire.greet()
        assert wire.status()[2] == 0
