import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.channels.urgency import is_for_everybody, is_urgent


@given(
    st.sampled_from(
        ["/stop", "/estop", "/STOP now", "/estop clear", "/stopp", "／stop", "／ｅｓｔｏｐ"]
    ),
    st.text(" \n\t"),
)
def test_whatever_stops_the_agent_is_urgent(text: str, before: str) -> None:
    assert is_urgent(before + text)


@pytest.mark.parametrize("text", ["stop", "do /stop", "", "/status", "/new", "st/op"])
def test_nothing_else_is(text: str) -> None:
    assert not is_urgent(text)


@pytest.mark.parametrize(
    "text",
    ["/stop", "/stop!", "／stop。", "/estop", " /EStop\n", "/estop!!", "/estop now", "/estopp"],
)
def test_a_stop_needs_no_name_in_a_group(text: str) -> None:
    assert is_for_everybody(text)


@pytest.mark.parametrize("text", ["/stop now", "/stopp", "see /estop", "stop"])
def test_whatever_more_is_said_needs_one(text: str) -> None:
    assert not is_for_everybody(text)
