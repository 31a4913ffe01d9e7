import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import CallRefused
from agent.link.manifest import MAX_BYTES, Field
from agent.link.value_codec import CutOff, limit_of, pack_octets, unpack_octets

HEX = Field("data", "s", maximum=32)
TEXT = Field("data", "s", maximum=128, text=True)


@pytest.mark.parametrize("written", ["1fa0", "1f a0", "1F,A0", "0x1f 0xa0", "1f:a0", " 1f  a0 "])
def test_hex_may_be_written_in_many_ways(written: str) -> None:
    assert pack_octets(HEX, written) == b"\x02\x1f\xa0"


@pytest.mark.parametrize("written", ["1", "1g", "hello", "0x"])
def test_what_is_no_hex_is_refused(written: str) -> None:
    with pytest.raises(CallRefused):
        pack_octets(HEX, written)


@pytest.mark.parametrize("field", [HEX, TEXT])
def test_nothing_and_too_much_are_refused(field: Field) -> None:
    too_much = "41" * 129 if field is HEX else "A" * 129
    for written in ("", too_much):
        with pytest.raises(CallRefused, match="bytes"):
            pack_octets(field, written)


@pytest.mark.parametrize(
    ("written", "data"),
    [
        ("AT\\r\\n", b"AT\r\n"),
        ("\\x00\\xFf", b"\x00\xff"),
        ("a\\\\n", b"a\\n"),
        ("\\q", b"\\q"),
        ("°", "°".encode()),
        ("line\n", b"line\n"),
    ],
)
def test_text_has_escapes(written: str, data: bytes) -> None:
    assert pack_octets(TEXT, written) == bytes([len(data)]) + data


def test_what_a_device_says_is_printable_whatever_it_is() -> None:
    assert unpack_octets(TEXT, b"\x05\x1b[2J\\rest") == ("\\x1b[2J\\\\", 6)
    assert unpack_octets(HEX, b"\x02\x00\xff") == ("00 ff", 3)


@given(st.binary(min_size=1, max_size=32))
def test_what_is_read_can_be_written(data: bytes) -> None:
    for field in (HEX, TEXT):
        packed = bytes([len(data)]) + data
        shown, size = unpack_octets(field, packed + b"more")
        assert size == len(packed)
        assert shown.isprintable()
        assert shown.isascii()
        assert pack_octets(field, shown) == packed


@given(st.binary(max_size=40))
def test_no_answer_causes_anything_but_a_value_or_a_refusal(payload: bytes) -> None:
    try:
        assert unpack_octets(TEXT, payload)[1] <= len(payload)
    except CutOff:
        assert not payload or len(payload) <= payload[0]


@pytest.mark.parametrize(
    ("maximum", "limit"), [(None, MAX_BYTES), (9, 9), (9999, MAX_BYTES), (0, 1)]
)
def test_no_manifest_makes_a_frame_too_long(maximum: float | None, limit: int) -> None:
    assert limit_of(Field("data", "s", maximum=maximum)) == limit
