from hypothesis import given
from hypothesis import strategies as st

from agent.channels.slack.markup import MAX_CHARS, QUIET, first_part, parts, shown


def test_markdown_becomes_slacks_own_marks() -> None:
    assert shown("**b** *i* ~~s~~ `c`") == "*b* _i_ ~s~ `c`"
    assert shown("[page](https://a.example/?x=1&y=2)") == "<https://a.example/?x=1&amp;y=2|page>"
    assert shown("```sh\nls *\n```") == "```\nls *\n```"
    assert shown("> one\n> two") == "> one\n> two"
    assert shown("- **a**\n- b") == "• *a*\n• b"


def test_nothing_calls_anybody() -> None:
    assert shown("<!channel> <@U0ANNA>") == "&lt;!channel&gt; &lt;@U0ANNA&gt;"
    assert "<!" not in shown("`<!here>` and\n```\n<!here>\n```")


def test_inside_code_nothing_is_a_mark() -> None:
    assert shown("`a **b** c`") == "`a **b** c`"


@given(st.text(st.sampled_from("ab &<>*_~`\n[]()#😀"), max_size=9000))
def test_every_part_is_taken_by_slack_and_calls_nobody(text: str) -> None:
    for part in parts(text):
        told = shown(part)
        assert len(told) <= MAX_CHARS
        assert "<!" not in told
        assert "<@" not in told


def test_what_still_grows_is_shown_from_its_beginning() -> None:
    assert first_part("word " * 5000).startswith("word word")
    assert len(shown(first_part("word & " * 5000))) <= MAX_CHARS


def test_no_page_is_fetched_for_a_preview() -> None:
    assert (QUIET["unfurl_links"], QUIET["unfurl_media"]) == (False, False)
