import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.slack.events import SlackCommand, SlackEvent, SlackShared
from agent.channels.slack.inbound import (
    commanded,
    is_for_us,
    place_of,
    understood,
    written,
)
from agent.channels.slack.markup import escaped
from agent.messages import Whose
from tests.fakes.slack_world import ANNA, DM, ME, ROOM

TS = "1700000000.000100"


def event(text: str = "hello", channel: str = ROOM, **more: object) -> SlackEvent:
    kind = "im" if channel == DM else "channel"
    told: dict[str, object] = {"type": "message", "user": ANNA, "ts": TS, "channel_type": kind}
    return SlackEvent(**{**told, "channel": channel, "text": text, **more})  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        (f"<@{ME}> turn it on", "turn it on"),
        (f"<@{ME}|barnacle>: turn it on", "turn it on"),
        ("ask <@U0BERT>", "ask @U0BERT"),
        ("ask <@U0BERT|bert>", "ask @bert"),
        ("see <#C1|lab>", "see #lab"),
        ("<!here> and <!subteam^S1|@ops>", "@here and @ops"),
        ("<https://a.example/?x=1&amp;y=2>", "https://a.example/?x=1&y=2"),
        ("<https://a.example|the page>", "the page (https://a.example)"),
        ("<mailto:a@b.example|a@b.example>", "mailto:a@b.example"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&amp;lt; is a sign", "&lt; is a sign"),
        (" /stop", "/stop"),
    ],
)
def test_what_slack_spells_is_taken_back_to_what_was_written(spelled: str, meant: str) -> None:
    assert written(spelled, ME) == meant


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1))
def test_what_is_escaped_is_read_back_as_it_was(text: str) -> None:
    assert written(escaped(text), ME) == text.strip()


@given(st.text())
def test_no_text_is_too_strange_to_be_read(text: str) -> None:
    assert isinstance(written(text, ME), str)


@pytest.mark.parametrize(
    "more",
    [
        {"bot_id": "B1"},
        {"user": ME},
        {"user": "USLACKBOT"},
        {"subtype": "message_changed"},
        {"subtype": "channel_join"},
        {"user": None},
        {"channel": {"id": ROOM}},
        {"ts": "yesterday"},
        {"type": "reaction_added"},
    ],
)
def test_what_no_person_wrote_is_not_for_us(more: dict[str, object]) -> None:
    told: dict[str, object] = {"channel": DM, **more}
    assert not is_for_us(event(**told), ME, "all")  # type: ignore[arg-type]  # by name


def test_in_channels_those_are_heard_who_mention_or_answer_it() -> None:
    called, below = event(f"<@{ME}> hello"), event("and now?", parent_user_id=ME)
    for told, groups, is_heard in (
        (event(), "mention", False),
        (called, "mention", True),
        (below, "mention", True),
        (event(), "all", True),
        (called, "off", False),
        (event(channel=DM), "off", True),
    ):
        assert is_for_us(told, ME, groups) is is_heard  # type: ignore[arg-type]  # of the tuple


def test_a_thread_is_one_only_below_its_first_message() -> None:
    assert understood(event(thread_ts=TS), ME, 1.0).thread is None
    assert understood(event(thread_ts="1700000000.000001"), ME, 1.0).thread == "1700000000.000001"


def test_a_slash_command_is_what_stands_after_it() -> None:
    told = commanded(SlackCommand("/barnacle", DM, ANNA, "status now"), "e1", 1.0)
    assert told is not None
    assert (told.text, told.sender, told.is_group) == ("/status now", ANNA, False)
    assert place_of(told.message_id) is None
    assert commanded(SlackCommand("/barnacle", "../x", ANNA, "stop"), "e1", 1.0) is None


@pytest.mark.parametrize(
    ("text", "told", "is_forwarded"),
    [("", "[a forwarded message]", True), ("what is this?", "what is this?", False)],
)
def test_a_shared_message_is_quoted_and_alone_it_is_a_forward(
    text: str, told: str, *, is_forwarded: bool
) -> None:
    shared = SlackShared(is_share=True, text="turn the &lt;pump&gt; on", fallback="no")
    unfurled = SlackShared(is_share=False, text="a preview of a link")
    heard = understood(event(text, DM, attachments=[unfurled, shared]), ME, 0.0)
    assert (heard.text, heard.is_forwarded) == (told, is_forwarded)
    assert (heard.quoted, heard.quoted_of) == ("turn the <pump> on", Whose.ANYBODYS)


def test_what_hangs_below_a_message_may_be_anything() -> None:
    strange = msgspec.json.decode(
        b'{"type":"message","attachments":[{"is_share":true,"text":5},{"is_share":"yes"},{}]}',
        type=SlackEvent,
    )
    assert (
        understood(msgspec.structs.replace(strange, channel=DM, user=ANNA, ts=TS), ME, 0.0).quoted
        == ""
    )
