import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.email.header_fields import (
    MAX_FIELDS,
    MAX_HEADER_BYTES,
    HeaderField,
    UnclearHeader,
    split_header,
)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_fields_are_unfolded_and_nothing_is_decoded(end: bytes) -> None:
    raw = end.join([b"From: a@b.example", b"X-A:one", b"\ttwo", b"  three", b"", b"Y: body"])
    assert split_header(raw) == (
        HeaderField("from", " a@b.example"),
        HeaderField("x-a", "one\ttwo  three"),
    )
    assert split_header(b"Subject: =?utf-8?q?a=3Bb?=\n\n")[0].value == " =?utf-8?q?a=3Bb?="


def test_a_header_without_a_body_and_a_letter_without_a_header_are_read() -> None:
    assert split_header(b"A: b\r\n") == (HeaderField("a", " b"),)
    assert split_header(b"") == ()
    assert split_header("Über: a\n\n".replace("Ü", "U").encode()) == (HeaderField("uber", " a"),)
    assert split_header("Subject: Tür\n\n".encode()) == (HeaderField("subject", " Tür"),)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"From : a@b.example\n\n", "no field"),
        (b"From a@b.example Mon\nA: b\n\n", "no field"),
        (b"A: b\nnothing\n\n", "no field"),
        (b": b\n\n", "no field"),
        ("Ü: b\n\n".encode(), "no field"),
        (b" A: b\n\n", "continues nothing"),
        (b"A: b\n \nB: c\n\n", "continues nothing"),
        (b"A: b\rB: c\n\n", "odd way"),
        (b"A: b\0\n\n", "odd way"),
        (b"A: b\n" * (MAX_FIELDS + 1) + b"\n", "more than 500"),
        (b"A: " + b"b" * MAX_HEADER_BYTES, "does not end"),
    ],
)
def test_what_programs_read_in_two_ways_is_refused(raw: bytes, why: str) -> None:
    with pytest.raises(UnclearHeader, match=why):
        split_header(raw)


@given(st.binary(max_size=200))
def test_any_bytes_are_split_or_refused(raw: bytes) -> None:
    try:
        found = split_header(raw)
    except UnclearHeader:
        return
    assert all(field.name == field.name.lower() and "\n" not in field.value for field in found)
