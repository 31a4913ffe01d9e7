"""The lines of a stream: however they are cut, whatever stands in them."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agent.channels.ntfy.client import path_of
from agent.channels.ntfy.events import MAX_LINE_BYTES, NtfyEventLines, read
from agent.errors import ChannelUnavailable

LINES = (
    b'{"event":"open","time":1}\nnonsense\n\n{"event":"message","id":"a","message":"\xc3\xa4"}\n'
)


@given(st.integers(1, len(LINES)))
def test_a_stream_may_be_cut_anywhere(size: int) -> None:
    lines = NtfyEventLines()
    pieces = [LINES[start : start + size] for start in range(0, len(LINES), size)]
    events = [event for piece in pieces for event in lines.feed(piece)]
    assert [(one.event, one.message) for one in events] == [("open", ""), ("message", "ä")]


@given(st.binary(max_size=100))
def test_no_line_breaks_it(line: bytes) -> None:
    read(line)


def test_a_line_without_an_end_is_given_up() -> None:
    lines = NtfyEventLines()
    lines.feed(b"x" * MAX_LINE_BYTES)
    with pytest.raises(ChannelUnavailable, match="a line that is too long"):
        lines.feed(b"x")


def test_a_place_is_an_id_or_the_time_of_an_opening() -> None:
    found = [read(line) for line in LINES.splitlines()]
    assert [one.place for one in found if one] == ["1", "a"]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://ntfy.sh/file/aB3.pdf", "/file/aB3.pdf"),
        ("https://another.example/file/aB3", "/file/aB3"),
        ("https://ntfy.sh/file/../v1/account", ""),
        ("https://ntfy.sh/file/a/b", ""),
        ("file:///etc/passwd", ""),
        ("https://ntfy.sh/file/a%2e%2e", ""),
        ("", ""),
    ],
)
def test_a_file_is_on_its_own_server_or_nowhere(url: str, path: str) -> None:
    assert path_of(url) == path
