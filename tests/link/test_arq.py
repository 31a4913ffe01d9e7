from agent.link.arq import (
    MAX_RETRIES,
    NAK_HOLD_OFF_S,
    RTO_INITIAL_S,
    WINDOW_FRAMES,
    FrameArrival,
    Outgoing,
    ReceiveWindow,
    SendWindow,
)
from agent.link.frame import REQUEST, Frame, encode


def window_with(count: int, credit_bytes: int = 4096) -> SendWindow:
    window = SendWindow()
    window.credit_bytes = credit_bytes
    for number in range(count):
        window.add(REQUEST, bytes([number]))
    return window


def sent(window: SendWindow, now_s: float = 0.0) -> list[Outgoing]:
    frames = []
    while (frame := window.next_frame(now_s)) is not None:
        frames.append(frame)
    return frames


def test_frames_are_numbered_as_they_are_sent() -> None:
    assert [frame.sequence for frame in sent(window_with(3))] == [0, 1, 2]


def test_no_more_than_the_window_is_on_its_way() -> None:
    window = window_with(WINDOW_FRAMES + 3)
    assert len(sent(window)) == WINDOW_FRAMES
    assert not window.is_waiting
    window.acknowledge(2, 0.1)
    assert [frame.sequence for frame in sent(window)] == [WINDOW_FRAMES, WINDOW_FRAMES + 1]


def test_no_more_than_the_peer_has_room_for_is_on_its_way() -> None:
    wire_bytes = Outgoing(REQUEST, b"x").wire_bytes
    assert wire_bytes == len(encode(Frame(REQUEST, payload=b"x"), 1))
    window = window_with(5, credit_bytes=2 * wire_bytes)
    assert len(sent(window)) == 2


def test_one_frame_is_sent_even_without_credit() -> None:
    assert len(sent(window_with(3, credit_bytes=0))) == 1


def test_an_urgent_frame_overtakes_those_that_wait() -> None:
    window = window_with(2)
    window.add(REQUEST, b"now", urgent=True)
    assert [frame.payload for frame in sent(window)] == [b"now", b"\0", b"\1"]


def test_a_frame_that_waits_can_be_withdrawn() -> None:
    window = window_with(1)
    frame = window.add(REQUEST, b"never mind")
    window.withdraw(frame)
    assert [frame.payload for frame in sent(window)] == [b"\0"]
    assert not frame.was_sent


def test_numbers_go_around() -> None:
    window = SendWindow()
    for number in range(600):
        window.add(REQUEST, b"")
        (frame,) = sent(window)
        assert frame.sequence == number % 256
        window.acknowledge((number + 1) % 256, 0.0)
    assert window.due_at_s is None


def test_an_acknowledgement_of_what_was_never_sent_is_ignored() -> None:
    window = window_with(2)
    sent(window)
    window.acknowledge(3, 0.0)
    window.acknowledge(200, 0.0)
    window.acknowledge(0, 0.0)
    assert len(window.resend_due(10.0)) == 2
    window.acknowledge(2, 0.0)
    window.acknowledge(2, 0.0)
    assert window.due_at_s is None


def test_everything_on_its_way_is_sent_again_after_the_timeout() -> None:
    window = window_with(2)
    sent(window)
    assert window.due_at_s == RTO_INITIAL_S
    assert window.resend_due(RTO_INITIAL_S - 0.01) == []
    assert [frame.sequence for frame in window.resend_due(RTO_INITIAL_S)] == [0, 1]
    assert window.due_at_s == RTO_INITIAL_S + 2 * RTO_INITIAL_S


def test_nothing_is_due_when_nothing_is_on_its_way() -> None:
    assert SendWindow().resend_due(100.0) == []


def test_a_nak_has_the_frames_sent_again_at_once_but_not_twice() -> None:
    window = window_with(2)
    assert window.resend_missing(0.0) == []
    sent(window)
    assert window.resend_missing(NAK_HOLD_OFF_S / 2) == []
    assert len(window.resend_missing(NAK_HOLD_OFF_S)) == 2
    assert window.resend_missing(NAK_HOLD_OFF_S * 1.5) == []


def test_only_a_frame_that_was_sent_once_tells_the_round_trip() -> None:
    window = window_with(1)
    sent(window)
    window.resend_due(RTO_INITIAL_S)
    backed_off_s = window.timer.rto_s
    window.acknowledge(1, RTO_INITIAL_S + 0.001)
    assert window.timer.rto_s == backed_off_s


def test_hope_ends_with_the_last_retry_and_returns_with_an_acknowledgement() -> None:
    window = window_with(2)
    sent(window)
    for retry in range(MAX_RETRIES):
        window.resend_due(10.0 * (retry + 1))
    assert not window.is_hopeless
    window.acknowledge(1, 100.0)
    for retry in range(MAX_RETRIES + 1):
        assert not window.is_hopeless
        window.resend_due(1000.0 + 10.0 * retry)
    assert window.is_hopeless


def test_naks_do_not_outnumber_the_retries() -> None:
    window = window_with(1)
    sent(window)
    resent = [window.resend_missing(1.0 * second) for second in range(1, 20)]
    assert sum(map(len, resent)) == MAX_RETRIES


def test_only_the_expected_frame_is_taken() -> None:
    window = ReceiveWindow()
    assert window.take(0) is FrameArrival.NEW
    assert window.take(0) is FrameArrival.REPEATED
    assert window.take(2) is FrameArrival.GAP
    assert window.take(1) is FrameArrival.NEW
    assert window.expected == 2


def test_expectations_go_around() -> None:
    window = ReceiveWindow()
    for number in range(300):
        assert window.take(number % 256) is FrameArrival.NEW
        assert window.take((number + 3) % 256) is FrameArrival.GAP
        assert window.take((number - 3) % 256) is FrameArrival.REPEATED
