import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.lark.frames import (
    DATA,
    JOIN_WITHIN_S,
    MAX_UNJOINED,
    LarkFrame,
    LarkFrameError,
    LarkFrameParts,
    acknowledged,
    decode,
    encode,
    ping,
)

I32 = st.integers(min_value=-(1 << 31), max_value=(1 << 31) - 1)
U64 = st.integers(min_value=0, max_value=(1 << 64) - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
FRAMES = st.builds(
    LarkFrame,
    I32,
    I32,
    st.lists(st.tuples(TEXT, TEXT), max_size=5).map(tuple),
    st.none() | st.binary(max_size=200),
    U64,
    U64,
    st.none() | TEXT,
    st.none() | TEXT,
    st.none() | TEXT,
)
# Written by the vendor's own class (lark-oapi 1.7.5)
PING = bytes.fromhex("08001000189683801020002a0c0a0474797065120470696e67")


@given(FRAMES)
def test_what_is_written_is_read_again(frame: LarkFrame) -> None:
    assert decode(encode(frame)) == frame


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_none(data: bytes) -> None:
    try:
        decode(data)
    except LarkFrameError:
        return


@given(FRAMES, st.data())
def test_a_frame_that_is_cut_is_a_shorter_one_or_none(
    frame: LarkFrame, data: st.DataObject
) -> None:
    whole = encode(frame)
    cut = data.draw(st.integers(min_value=0, max_value=len(whole) - 1))
    try:
        assert len(decode(whole[:cut]).headers) <= len(frame.headers)
    except LarkFrameError:
        return


def test_a_ping_is_what_the_vendor_writes() -> None:
    assert encode(ping(33554838)) == PING


def test_an_unknown_field_is_passed_over() -> None:
    assert decode(encode(ping(7)) + bytes([0x7A, 2, 1, 1, 0x85, 1, 0, 0, 0, 0])) == ping(7)


def test_an_acknowledgement_is_the_frame_with_another_payload() -> None:
    frame = part("m", 1, 0, b"long")
    told = acknowledged(frame, 12)
    assert told.payload == b'{"code":200}'
    assert told.headers == (*frame.headers, ("biz_rt", "12"))
    assert (told.service, told.method, told.sequence) == (frame.service, DATA, frame.sequence)


def part(known: str, count: int, place: int, payload: bytes) -> LarkFrame:
    told = {"type": "event", "message_id": known, "sum": f"{count}", "seq": f"{place}"}
    return LarkFrame(1, DATA, tuple(told.items()), payload, 3)


class TestJoining:
    def test_parts_are_joined_in_whatever_order_they_come(self) -> None:
        joining = LarkFrameParts()
        assert joining.add(part("m", 3, 2, b"c"), 0) is None
        assert joining.add(part("m", 3, 0, b"a"), 0) is None
        assert joining.add(part("n", 1, 0, b"whole"), 0) == b"whole"
        assert joining.add(part("m", 3, 1, b"b"), 0) == b"abc"

    def test_a_part_that_is_too_late_begins_anew(self) -> None:
        joining = LarkFrameParts()
        joining.add(part("m", 2, 0, b"old"), 0)
        assert joining.add(part("m", 2, 1, b"b"), JOIN_WITHIN_S + 1) is None
        assert joining.add(part("m", 2, 0, b"a"), JOIN_WITHIN_S + 2) == b"ab"

    @pytest.mark.parametrize(("count", "place"), [(1000, 0), (2, 2), (2, 99999)])
    def test_a_part_of_nothing_that_can_be_is_dropped(self, count: int, place: int) -> None:
        assert LarkFrameParts().add(part("m", count, place, b"x"), 0) is None

    def test_what_is_never_whole_does_not_pile_up(self) -> None:
        joining = LarkFrameParts()
        for number in range(MAX_UNJOINED + 1):
            joining.add(part(f"m{number}", 2, 0, b"a"), 0)
        assert joining.add(part("m0", 2, 1, b"b"), 0) is None
        assert joining.add(part(f"m{MAX_UNJOINED}", 2, 1, b"b"), 0) == b"ab"


def test_letters_that_are_no_text_are_read_all_the_same() -> None:
    assert decode(b"\x2a\x06\x0a\x01\xff\x12\x01a").headers == (("\ufffd", "a"),)
    assert set(string.hexdigits) >= set(encode(ping(1)).hex())
