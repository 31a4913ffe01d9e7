from hypothesis import given
from hypothesis import strategies as st

from agent.channels.matrix.client import encoded
from agent.channels.matrix.markup import content_of, edit_of, parts, placed

# What a homeserver takes of an event, with its envelope
MAX_EVENT_BYTES = 65_000


def test_lines_end_outside_of_blocks_and_stay_inside() -> None:
    html = content_of("one\ntwo\n\n```\na\nb\n```\n")["formatted_body"]
    assert isinstance(html, str)
    assert "one<br>two" in html
    assert "a\nb" in html


def test_html_that_somebody_writes_is_text() -> None:
    html = content_of("<img src=x> & **bold**")["formatted_body"]
    assert html == "&lt;img src=x&gt; &amp; <b>bold</b>"


@given(st.text(st.sampled_from('ab&<"\\\n* `é👩'), max_size=400), st.integers(1, 60))
def test_an_edit_of_any_part_is_taken(text: str, times: int) -> None:
    for part in parts(text * times):
        assert len(encoded(edit_of("$" + "x" * 43, content_of(part)))) < MAX_EVENT_BYTES


def test_an_answer_in_a_thread_shows_what_it_answers_where_threads_are_unknown() -> None:
    told = placed({}, "$asked", "$root", is_group=False)["m.relates_to"]
    reply = {"event_id": "$asked"}
    about = {"rel_type": "m.thread", "event_id": "$root", "is_falling_back": True}
    assert told == {**about, "m.in_reply_to": reply}


def test_in_a_chat_of_two_it_is_clear_what_is_answered() -> None:
    assert placed({}, "$asked", None, is_group=False) == {}
    assert placed({}, "$asked", None, is_group=True) != {}
