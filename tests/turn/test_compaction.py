import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import ChatMessage, Role, ToolCall
from agent.turn.compaction import (
    DIGEST_CHARS,
    FRESH_TURNS,
    NO_RESULT,
    SEEN_PICTURE,
    STALE_MARK,
    STALE_RESULT_CHARS,
    digest,
    normalised,
    turns_of,
    without_ballast,
)
from tests.fakes.said import assistant_said, tool_said, user_said

CALL = ToolCall("1", "lamp", '{"value":"on"}')
LONG = "x" * 5000


def turn(number: int, result: str = "ok") -> tuple[ChatMessage, ...]:
    return (
        user_said(f"order {number} [IMAGE:{number}.png]"),
        assistant_said("", (CALL,)),
        tool_said(CALL, result),
        assistant_said(f"done {number}"),
    )


MESSAGES = st.lists(
    st.sampled_from(
        [
            user_said("u"),
            assistant_said("a"),
            assistant_said("", (CALL,)),
            assistant_said("b", (CALL, ToolCall("2", "lamp", "{}"))),
            tool_said(CALL, "r1"),
            tool_said(ToolCall("2", "lamp", "{}"), "r2"),
            tool_said(ToolCall("9", "lamp", "{}"), "nobody's"),
        ]
    ),
    max_size=12,
)


@given(MESSAGES)
def test_whatever_was_kept_models_accept_what_is_shown(messages: list[ChatMessage]) -> None:
    shown = normalised(messages)
    assert not shown or shown[0].role is Role.USER
    due: list[str] = []
    for before, after in zip((None, *shown), shown, strict=False):
        if after.role is Role.TOOL:
            assert due, "a result without its call"
            assert after.call_id == due.pop(0)
            continue
        assert due == [], "a call without its result"
        if before is not None and not before.tool_calls:
            assert before.role is not after.role
        due = [call.call_id for call in after.tool_calls]
    assert due == []
    assert normalised(shown) == shown


def test_what_a_person_said_in_a_turn_that_never_ended_is_joined_to_the_next() -> None:
    shown = normalised([user_said("hello"), user_said("never mind")])
    assert shown == (user_said("hello\n\nnever mind"),)


def test_a_call_that_was_cut_off_is_said_to_have_no_result() -> None:
    shown = normalised([user_said("go"), assistant_said("", (CALL,))])
    assert shown[-1] == tool_said(CALL, NO_RESULT, is_error=True)


def test_a_complete_turn_is_left_as_it_is() -> None:
    assert normalised((*turn(1), *turn(2))) == (*turn(1), *turn(2))


def test_only_the_last_turns_keep_their_long_results_and_pictures() -> None:
    messages = [message for number in range(6) for message in turn(number, LONG)]
    shown = turns_of(without_ballast(messages))
    for number, (user, _, result, _) in enumerate(shown):
        is_fresh = number >= 6 - FRESH_TURNS
        assert (f"[IMAGE:{number}.png]" in user.text) is is_fresh
        assert (SEEN_PICTURE in user.text) is not is_fresh
        assert (result.text == LONG) is is_fresh
        if not is_fresh:
            assert result.text == "x" * STALE_RESULT_CHARS + STALE_MARK


def test_a_digest_has_the_newest_and_stays_a_page() -> None:
    text = ""
    for number in range(100):
        text = digest(text, turn(number))
    assert len(text) <= DIGEST_CHARS
    assert text.splitlines()[-2:] == [f"- person: order 99 {SEEN_PICTURE}", "- you: done 99"]
    assert "order 1 " not in text


@pytest.mark.parametrize("text", ["a\nb", "x" * 3000])
def test_a_digest_has_one_short_line_for_a_message(text: str) -> None:
    (line,) = digest("", [user_said(text)]).splitlines()
    assert len(line) < 200
