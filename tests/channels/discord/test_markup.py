import re

from hypothesis import given
from hypothesis import strategies as st

from agent.channels.discord.markup import MAX_UNITS, escaped, literal, parts, shown
from agent.channels.render.plain import to_plain
from agent.channels.render.styled import utf16_units

ANYTHING = st.text(
    alphabet=st.one_of(
        st.sampled_from("*_~`|<>[]()#-+.!\\ \nab1@:/"), st.characters(codec="utf-8")
    ),
    max_size=4000,
)


def content(markdown: str) -> str:
    return str(shown(markdown)["content"])


@given(ANYTHING)
def test_no_part_is_longer_than_the_platform_takes(markdown: str) -> None:
    for part in parts(markdown):
        assert utf16_units(content(part)) <= MAX_UNITS


@given(ANYTHING)
def test_nothing_in_an_answer_calls_anybody_or_shows_a_page(markdown: str) -> None:
    body = shown(markdown)
    assert body["allowed_mentions"] == {"parse": []}
    assert body["flags"] == 4


@given(st.text(alphabet="*_~`|<[]\\ab\n", max_size=200))
def test_no_mark_is_left_bare_in_words_that_are_escaped(text: str) -> None:
    bare = re.sub(r"\\[^\n]", "", escaped(text))
    assert not set(bare) & set("*_~`|<[]\\")


def test_styles_are_discords_own_marks() -> None:
    assert content("**a** *b* ~~c~~ `d_e`") == "**a** *b* ~~c~~ `d_e`"
    assert content("```python\nx = 1\n```") == "```python\nx = 1\n```"
    assert content("> one\n> two") == "> one\n> two"


def test_what_only_looks_like_a_mark_is_escaped() -> None:
    assert content("2\\*3\\*4 and snake_case") == "2\\*3\\*4 and snake\\_case"
    assert content("<@123> @everyone") == "\\<@123> @everyone"


def test_a_link_leads_where_it_says() -> None:
    assert (
        content("[the sheet](https://example.org/a_b)") == "[the sheet](<https://example.org/a_b>)"
    )
    assert content("see https://example.org/a_b*c") == "see https://example.org/a_b*c"
    hidden = content("[https://bank.example](https://evil.example)")
    assert "evil.example" in hidden
    assert not hidden.startswith("[")


def test_a_fence_inside_a_block_does_not_end_it() -> None:
    body = content("````\n```\nx\n````")
    assert body.count("```") == 2
    assert "x" in body


def test_code_with_backticks_keeps_them() -> None:
    assert content("`` a`b ``") == "`` a`b ``"


def test_what_is_asked_about_is_seen_sign_by_sign() -> None:
    assert literal('{"pin":"**led**"}')["content"] == '```\n{"pin":"**led**"}\n```'
    fenced = str(literal("a ``` **b** https://x_y")["content"])
    assert "**" not in fenced
    assert to_plain(fenced) == "a ``` **b** https://x_y"
