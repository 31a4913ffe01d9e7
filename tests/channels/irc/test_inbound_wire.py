import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.irc.inbound import MAX_LINE_BYTES, folded, read_line, write_line

# What a middle parameter may be, as of RFC 2812
WORDS = st.from_regex(r"[^\x00\r\n :][^\x00\r\n ]{0,15}", fullmatch=True).filter(
    lambda word: word.encode("utf-8", "ignore").decode() == word and not word.isspace()
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def test_a_line_with_everything_is_read() -> None:
    line = read_line(rb"@time=2026-11-20T19:26:39Z;account=an\sna;+x :a!b@c PRIVMSG #lab :hi :)")
    assert line is not None
    assert (line.command, line.parameters, line.nick) == ("PRIVMSG", ("#lab", "hi :)"), "a")
    assert line.tags == {"time": "2026-11-20T19:26:39Z", "account": "an na", "+x": ""}


@pytest.mark.parametrize("raw", [b"", b" ", b":source", b"@tags", b"12 x", b"PRIV-MSG x", b"\xff"])
def test_what_is_no_line_is_none(raw: bytes) -> None:
    assert read_line(raw) is None


@pytest.mark.parametrize("charset", ["utf-8", "cp1252"])
def test_words_are_read_in_whatever_characters_their_program_writes(charset: str) -> None:
    line = read_line(":a!b@c PRIVMSG #lab :Küchenlampe an – 5 €".encode(charset))
    assert line is not None
    assert line.parameter(1) == "Küchenlampe an – 5 €"


def test_a_character_that_was_cut_spoils_no_other() -> None:
    line = read_line(":a!b@c PRIVMSG #lab :Lämpchen ü".encode()[:-1])
    assert line is not None
    assert line.parameter(1) == "Lämpchen "


@given(st.binary(max_size=600))
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    read_line(raw)


@given(WORDS, TEXTS)
def test_what_is_written_is_read_as_it_was_but_for_line_ends(target: str, text: str) -> None:
    line = read_line(write_line("PRIVMSG", target, text).rstrip(b"\r\n"))
    assert line is not None
    assert line.parameters[0] == target
    said = line.parameters[1]
    assert "\r" not in said
    assert "\n" not in said
    assert "\0" not in said
    if not set(text) & {"\r", "\n", "\0"}:
        assert said == text


@given(TEXTS)
def test_no_text_becomes_a_line_of_its_own(text: str) -> None:
    assert write_line("PRIVMSG", "#lab", f"{text}\r\nQUIT :bye").count(b"\n") == 1


@pytest.mark.parametrize("target", ["", "two words", ":colon"])
def test_a_target_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(ValueError, match="a parameter of PRIVMSG"):
        write_line("PRIVMSG", target, "hello")


def test_a_line_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match=f"longer than {MAX_LINE_BYTES}"):
        write_line("PRIVMSG", "#lab", "ü" * 250)


def test_names_are_compared_as_servers_do() -> None:
    assert folded("Nick[A]\\~") == folded("nick{a}|^")
