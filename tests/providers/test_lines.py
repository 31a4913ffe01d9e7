import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import TransientProviderError
from agent.providers.lines import LineSplitter
from agent.providers.sse import MAX_EVENT_BYTES

# All that Python takes for the end of a line, and only one of them is
_ODD_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=40)),
    st.integers(1, 9),
    st.sampled_from(["\n", "\r\n"]),
)
def test_lines_are_the_same_however_they_are_cut(lines: list[str], size: int, end: str) -> None:
    stream = "".join(line + end for line in lines).encode()
    splitter = LineSplitter()
    found = [
        event
        for at in range(0, len(stream), size)
        for event in splitter.feed(stream[at : at + size])
    ]
    trimmed = [line.encode().strip().decode() for line in lines]
    assert found == [line for line in trimmed if line]
    assert splitter.close() == []


def test_only_a_newline_ends_a_line() -> None:
    text = f'{{"a":"{_ODD_ENDS}"}}'
    assert LineSplitter().feed(f"{text}\n".encode()) == [text]


def test_a_line_without_its_end_is_given_up_last_and_once() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"a":1}\n{"b"') == ['{"a":1}']
    assert splitter.close() == ['{"b"']
    assert splitter.close() == []


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert LineSplitter().feed(b"a\xffb\n") == ["a\N{REPLACEMENT CHARACTER}b"]


def test_a_line_without_end_is_refused() -> None:
    splitter = LineSplitter()
    for _ in range(0, MAX_EVENT_BYTES, 4096):
        assert splitter.feed(b"x" * 4096) == []
    with pytest.raises(TransientProviderError, match="line of more than 256 KB"):
        splitter.feed(b"x")


def test_many_lines_may_together_be_longer_than_one() -> None:
    splitter = LineSplitter()
    line = b"x" * 1000 + b"\n"
    assert sum(len(splitter.feed(line)) for _ in range(1000)) == 1000
