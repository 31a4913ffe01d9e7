import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.attached import frames
from agent.errors import ChannelRefused

TEXTS = st.text(max_size=200)
IDS = st.from_regex(r"^[0-9A-Za-z-]{1,64}\Z")
FROM_TERMINAL = st.one_of(
    st.builds(frames.HelloFrame, st.integers(0, 99), st.booleans()),
    st.builds(frames.SayFrame, IDS, TEXTS),
    st.builds(frames.AnswerFrame, st.integers(0), st.none() | TEXTS),
    st.just(frames.StopFrame()),
    st.just(frames.LeaveFrame()),
)
FROM_AGENT = st.one_of(
    st.builds(frames.DraftFrame, IDS, st.integers(0, 9), TEXTS),
    st.builds(frames.MessageFrame, st.integers(0), TEXTS, IDS, st.integers(0)),
    st.builds(frames.ApprovalFrame, st.integers(0), TEXTS, TEXTS, TEXTS, TEXTS, TEXTS),
    st.builds(frames.ByeFrame, TEXTS, st.booleans()),
)


@given(FROM_TERMINAL)
def test_what_a_terminal_says_arrives_as_one_line(frame: frames.FromTerminal) -> None:
    line = frames.encoded(frame)
    assert line.count(b"\n") == 1
    assert frames.from_terminal(line[:-1]) == frame


@given(FROM_AGENT)
def test_what_the_agent_says_arrives_as_one_line(frame: frames.FromAgent) -> None:
    line = frames.encoded(frame)
    assert line.count(b"\n") == 1
    assert frames.from_agent(line[:-1]) == frame


@given(st.binary(max_size=200))
def test_anything_else_is_refused_in_a_sentence(line: bytes) -> None:
    for decode in (frames.from_terminal, frames.from_agent):
        with pytest.raises(ChannelRefused):
            decode(line)


@given(st.binary(max_size=200))
def test_a_field_of_anything_is_looked_up_without_harm(line: bytes) -> None:
    assert frames.field_of(line, "version") is None


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"say","id":"","text":"x"}',
        b'{"type":"say","id":"' + b"1" * 65 + b'","text":"x"}',
        b'{"type":"say","id":"local:1","text":"x"}',
        b'{"type":"say","id":"1\\n","text":"x"}',
        b'{"type":"say","id":"1","text":"' + b"x" * (frames.MAX_SAID_CHARS + 1) + b'"}',
        b"[" * 100_000,
    ],
)
def test_what_would_do_harm_further_in_is_refused_at_the_edge(line: bytes) -> None:
    with pytest.raises(ChannelRefused):
        frames.from_terminal(line)


def test_who_says_it_is_not_said_in_a_frame() -> None:
    said = frames.from_terminal(b'{"type":"say","id":"1","text":"x","sender":"owner"}')
    assert said == frames.SayFrame("1", "x")


@pytest.mark.parametrize(("text", "kept"), [("abcd", "abc"), ("a\ud83d", "a?"), ("", "")])
def test_any_text_can_be_sent_cut_to_its_length(text: str, kept: str) -> None:
    assert frames.sendable(text, 3) == kept


@given(st.text(min_size=1, max_size=50))
def test_the_longest_message_of_any_characters_fits_into_a_frame(piece: str) -> None:
    text = (piece * frames.MAX_SAID_CHARS)[: frames.MAX_SAID_CHARS]
    assert len(frames.encoded(frames.SayFrame("1", text))) <= frames.MAX_SAID_FRAME_BYTES
