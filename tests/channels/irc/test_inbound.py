from datetime import UTC, datetime

import pytest

from agent.channels.irc.inbound import IrcInbound, IrcLine, sender_of, understood, without_name

NOW_S = 1_795_000_000.0


def line(text: str, where: str = "#lab", source: str = "anna!a@host", **tags: str) -> IrcLine:
    return IrcLine("PRIVMSG", (where, text), source, tags)


def heard(spoken: IrcLine, count: int = 1) -> IrcInbound:
    found = understood(spoken, "barnacle", NOW_S, count)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("barnacle: lamp on", "lamp on"),
        ("Barnacle, lamp on", "lamp on"),
        ("@barnacle lamp on", "lamp on"),
        ("is barnacle there?", "is barnacle there?"),
        ("barnacle", "barnacle"),
        ("barnacles are shells", None),
        ("my_barnacle is ill", None),
        ("barnacle_ is another", None),
        ("lamp on", None),
    ],
)
def test_who_calls_us_by_name_is_heard_without_it(text: str, called: str | None) -> None:
    assert without_name(text, "barnacle") == called


def test_a_nick_with_signs_is_a_name_too() -> None:
    assert without_name("[bot]^: hello", "[bot]^") == "hello"


def test_an_account_is_the_same_person_under_any_nick() -> None:
    senders = {
        sender_of(line("x", source=f"{nick}!u@h", account="anna")) for nick in ("anna", "anna_")
    }
    assert senders == {"account:anna"}


def test_who_has_no_account_is_never_taken_for_one() -> None:
    assert sender_of(line("x", source="account:anna!u@h")) == "account:anna!u@h"


def test_private_words_are_answered_in_private() -> None:
    told = heard(line("hello", where="barnacle")).inbound
    assert (told.reply_target, told.is_group) == ("anna", False)
    assert heard(line("hello")).inbound.reply_target == "#lab"


@pytest.mark.parametrize(
    "spoken",
    [
        line("hello", source="barnacle!b@host"),
        line("hello", source="irc.example.org"),
        line("\x01PING 12\x01"),
        line("  "),
        IrcLine("NOTICE", ("#lab", "hello"), "anna!a@host"),
    ],
)
def test_machines_and_ourselves_are_not_heard(spoken: IrcLine) -> None:
    assert understood(spoken, "barnacle", NOW_S, 1) is None


def test_styles_are_taken_out_and_deeds_are_told() -> None:
    assert heard(line("\x02bold\x02 \x0304,01red\x0f")).inbound.text == "bold red"
    assert heard(line("\x01ACTION waves\x01")).inbound.text == "/me waves"


def test_what_is_played_back_has_the_same_id() -> None:
    time = "2026-11-20T19:26:39.123Z"
    first, again = heard(line("x", time=time)), heard(line("x", time=time), 2)
    other = heard(line("x"))
    assert first.inbound.message_id == again.inbound.message_id != other.inbound.message_id
    assert first.inbound.sent_at_s == datetime(2026, 11, 20, 19, 26, 39, 123000, UTC).timestamp()
    assert heard(line("x", msgid="abc")).inbound.message_id == "abc"


@pytest.mark.parametrize("time", ["", "yesterday", "9999-99-99T00:00:00Z"])
def test_a_time_that_is_none_is_none(time: str) -> None:
    assert heard(line("x", time=time)).inbound.sent_at_s is None
