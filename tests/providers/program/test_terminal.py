import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.program.terminal import MAX_SEQUENCE_CHARS, TerminalText

PARTS = (
    "a",
    "é好💡",
    "\n",
    "\r\n",
    "\x1b[",
    "\x1b]0;t",
    "\x07",
    "\x1b\\",
    "\x1b",
    "31",
    "m",
    ";",
    "\x1b(B",
)
PARTS += ("\x00", "\x9b1m", "\t", "\x1bP", "\x7f")


def read(stream: bytes, size: int = 0) -> str:
    text = TerminalText()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)] if size else [stream]
    return "".join([*map(text.feed, pieces), text.close()])


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (b"\x1b[1;31mred\x1b[0m\n", "red\n"),
        (b"\x1b]0;a title\x07text", "text"),
        (b"\x1b]8;;https://x.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPq#0\x1b\\after", "after"),
        (b"\x1b(Bplain\x1b7\x1b8", "plain"),
        (b"\x1b[?25l\x1b[2Kone\r\ntwo\x1b[?25h", "one\ntwo"),
        (b"a\x00b\x08c\x7f", "abc"),
        (b"tab\tstays", "tab\tstays"),
        (b"cut \x1b[3", "cut "),
        (b"cut \xe5\xa5", "cut \N{REPLACEMENT CHARACTER}"),
        (b"\xff\xfe", "\N{REPLACEMENT CHARACTER}" * 2),
    ],
)
def test_only_the_text_is_left(stream: bytes, text: str) -> None:
    assert read(stream) == text
    assert read(stream, 1) == text


@given(st.lists(st.sampled_from(PARTS), max_size=30), st.integers(1, 7))
def test_text_is_the_same_however_it_is_cut(parts: list[str], size: int) -> None:
    stream = "".join(parts).encode()
    whole = read(stream)
    assert read(stream, size) == whole
    assert not any(char < " " and char not in "\n\t" for char in whole)


def test_a_title_without_an_end_swallows_no_answer() -> None:
    answer = "the answer " * MAX_SEQUENCE_CHARS
    assert read(f"\x1b]0;{answer}".encode(), 1000).endswith("the answer ")


def test_text_is_shown_as_it_comes() -> None:
    text = TerminalText()
    assert text.feed(b"one \x1b[3") == "one "
    assert text.feed(b"1mtwo") == "two"
