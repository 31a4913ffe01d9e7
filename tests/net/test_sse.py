import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import NetworkError
from agent.net.sse import MAX_ID_BYTES, SseDecoder, SseEvent

MAX_EVENT_BYTES = 256 * 1024


def events(*pieces: bytes) -> list[SseEvent]:
    parser = SseDecoder(MAX_EVENT_BYTES)
    return [event for piece in pieces for event in parser.feed(piece)]


def parsed(*pieces: bytes) -> list[str]:
    return [event.data for event in events(*pieces)]


def one_byte_at_a_time(stream: bytes) -> list[bytes]:
    return [stream[at : at + 1] for at in range(len(stream))]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: one\n\ndata: two\n\n", ["one", "two"]),
        (b"data:one\n\n", ["one"]),
        (b"data:  two spaces\n\n", [" two spaces"]),
        (b"data: one\r\n\r\ndata: two\r\n\r\n", ["one", "two"]),
        (b"data: one\r\rdata: two\r\r", ["one", "two"]),
        (b"data: one\r\n\ndata: two\n\r\n", ["one", "two"]),
        (b"data: first\ndata: second\n\n", ["first\nsecond"]),
        (b": OPENROUTER PROCESSING\n\ndata: one\n\n", ["one"]),
        (b":\n:\n\n\n\ndata: one\n\n", ["one"]),
        (b"event: message\nid: 7\nretry: 10\ndata: one\n\n", ["one"]),
        (b"data\n\n", [""]),
        (b"data: \n\n", [""]),
        (b"database: no\n\n", []),
        (b"\xef\xbb\xbfdata: one\n\n", ["one"]),
        ("data: a\u2028b\u2029c\u0085d\x0be\n\n".encode(), ["a\u2028b\u2029c\u0085d\x0be"]),
        (b"data: \xff\xfe\n\n", ["\ufffd\ufffd"]),
        (b"data: nul\x00inside\n\n", ["nul\x00inside"]),
        (b"data: never ended", []),
        (b"", []),
    ],
)
def test_every_form_of_the_format_whole_and_byte_by_byte(
    stream: bytes, expected: list[str]
) -> None:
    assert parsed(stream) == expected
    assert parsed(*one_byte_at_a_time(stream)) == expected


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: one\n\ndata: {}", ["{}"]),
        (b"data: one\n\ndata: {}\n", ["{}"]),
        (b"data: one\n\n", []),
        (b"data: one\n\n: comment", []),
    ],
)
def test_closing_hands_over_what_had_no_blank_line(stream: bytes, expected: list[str]) -> None:
    parser = SseDecoder(MAX_EVENT_BYTES)
    parser.feed(stream)
    assert [event.data for event in parser.close()] == expected


texts = st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]))


@given(
    st.lists(texts, max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["data:", "data: "]),
    st.data(),
)
def test_events_survive_any_cutting(
    events: list[str], line_end: str, prefix: str, data: st.DataObject
) -> None:
    stream = "".join(f"{prefix}{event}{line_end}{line_end}" for event in events).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    expected = [event.removeprefix(" ") if prefix == "data:" else event for event in events]
    assert parsed(*pieces) == expected


@given(st.binary(max_size=400), st.data())
def test_noise_never_breaks_the_parser_and_cutting_changes_nothing(
    noise: bytes, data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(noise)))
    assert parsed(noise) == parsed(noise[:cut], noise[cut:]) == parsed(*one_byte_at_a_time(noise))


@pytest.mark.parametrize(
    "piece", [b"x" * 1000, b": comment" * 100, b"data: 0123456789\n" * 50, b"data\n" * 1000]
)
def test_an_event_without_end_is_refused_before_it_is_held(piece: bytes) -> None:
    parser = SseDecoder(MAX_EVENT_BYTES)
    parser.feed(piece)
    with pytest.raises(NetworkError, match="256 KB"):
        parser.feed(piece * (6 * MAX_EVENT_BYTES // len(piece)))
    assert sum(map(len, [*parser._line, *parser._data])) <= MAX_EVENT_BYTES


def test_an_event_of_the_largest_size_passes_and_frees_its_room() -> None:
    largest = b"data: " + b"x" * (MAX_EVENT_BYTES - 8) + b"\n\n"
    assert [len(event) for event in parsed(largest, largest)] == [MAX_EVENT_BYTES - 8] * 2


def test_many_small_events_are_no_large_one() -> None:
    parser = SseDecoder(MAX_EVENT_BYTES)
    for _ in range(3):
        assert len(parser.feed(b"data: x\n\n" * 20_000)) == 20_000
    assert parser._held_bytes == 0


def test_a_drip_is_as_cheap_as_a_gush() -> None:
    stream = b"data: " + b"x" * 100_000 + b"\n\n"
    assert parsed(*one_byte_at_a_time(stream)) == ["x" * 100_000]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"id:7\ndata:one\n\ndata:two\n\nid: 8\ndata:three\n\n", ["7", "7", "8"]),
        (b"data:one\n\n", [""]),
        (b"id:7\n\nid:8\ndata:one\n\n", ["8"]),
        (b"id:a\0b\ndata:one\n\n", [""]),
        (b"id:" + b"9" * (MAX_ID_BYTES + 1) + b"\ndata:one\n\n", [""]),
    ],
)
def test_an_event_carries_the_id_to_go_on_after(stream: bytes, expected: list[str]) -> None:
    assert [event.event_id for event in events(stream)] == expected
    assert [event.event_id for event in events(*one_byte_at_a_time(stream))] == expected
