import contextlib
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools import page_program
from agent.tools.helper_program import LimitsExceeded, output_of
from agent.tools.page_program import MAX_TITLE_CHARS, read


def text_of(page: str) -> str:
    return read(page, "https://example.org/a/b")[1]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h2>One</h2>two<p>three<p>four", "## One\n\ntwo\n\nthree\n\nfour"),
        ("<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"),
        ("a<br>b<hr/>c", "a\nb\n\n---\n\nc"),
        ("<table><tr><th>pin<th>use</tr><tr><td>PB0<td>pump</table>", "| pin | use\n | PB0 | pump"),
        ("<pre>if x:\n    y</pre>", "```\nif x:\n    y\n```"),
        ("a  \n\t b&amp;c &#228;", "a b&c ä"),
        ("<a href='../x'>rel</a>", "[rel](https://example.org/x)"),
        ("<a href='https://e.org/(x) y'>l</a>", "[l](https://e.org/(x%29%20y)"),
        ("<a href='javascript:alert(1)'>js</a> <a>none</a>", "js none"),
        ("<a href='data:text/html,x'>d</a><a href='http://[::1'>e</a>", "de"),
        ("<a href='/x'></a>z", "z"),
        ("a</b></p></li>b", "ab"),
        ("<div/>text", "text"),
        ("", ""),
        ("<", "<"),
        ("plain", "plain"),
    ],
)
def test_a_page_becomes_text_with_marks(page: str, text: str) -> None:
    assert text_of(page) == text


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>X</script>",
        "<style>X</style>",
        "<!-- X -->",
        "<template><p>X</p></template>",
        "<noscript>X</noscript>",
        "<svg><text>X</text></svg>",
        "<div hidden>X</div>",
        "<div hidden><p>X</p><div>X</div></div>",
        "<p style='display: none'>X</p>",
        "<p style='DISPLAY:NONE'>X</p>",
        "<span style='visibility : hidden'>X</span>",
        "<span style='font-size:0'>X</span>",
        "<span style='color:red;opacity:0'>X</span>",
        "<p aria-hidden=true>X</p>",
        "<iframe>X</iframe>",
        "<textarea>X</textarea>",
        "<img alt='X' src='X'>",
        "<meta name=description content=X>",
        "<input type=hidden value=X>",
        "<p title='X' data-x='X'></p>",
    ],
)
def test_what_nobody_sees_is_not_read(hidden: str) -> None:
    assert text_of(f"<p>before</p>{hidden}<p>after</p>").split() == ["before", "after"]


def test_a_title_is_one_line_and_bounded() -> None:
    page = f"<head><title>\n Basil \n care {'x' * 900}</title><body>text"
    title, text = read(page, "https://example.org/")
    assert title.startswith("Basil care x")
    assert len(title) == MAX_TITLE_CHARS
    assert text == "text"


def test_a_head_that_is_not_closed_hides_nothing() -> None:
    assert text_of("<html><head><meta charset=utf-8><title>t</title><p>shown") == "shown"


def test_depth_without_end_is_no_trouble() -> None:
    assert text_of("<div>" * 5000 + "deep" + "</div>" * 5000) == "deep"


@given(st.text("<>/!-a =\"'ph&;\n", max_size=80))
def test_any_markup_gives_some_text(page: str) -> None:
    title, text = read(page, "https://example.org/")
    assert len(title) + len(text) <= 10 * len(page) + 10


async def test_the_program_reads_in_a_process_of_its_own() -> None:
    page = "<title>t</title><p>grün".encode()
    told = await output_of(page_program.__file__, ["https://example.org/"], page, 10.0)
    assert msgspec.json.decode(told) == ["t", "grün"]


@pytest.mark.parametrize(
    "bomb", [b"<!" * 500_000, b"<a " * 500_000, b"<" * 1_500_000, b"<a='" * 400_000]
)
async def test_markup_that_is_made_to_take_for_ever_is_ended(bomb: bytes) -> None:
    began, used_s = time.monotonic(), time.process_time()
    with contextlib.suppress(LimitsExceeded):
        await output_of(page_program.__file__, ["https://example.org/"], bomb, 1.5)
    assert time.monotonic() - began < 8
    assert time.process_time() - used_s < 1.0


@pytest.mark.parametrize(
    "style", ["font-size:0.9em", "font-size: 0.875rem", "opacity:0.9", "opacity: .05"]
)
def test_small_and_pale_text_is_shown(style: str) -> None:
    assert text_of(f"<p style='{style}'>shown") == "shown"


@pytest.mark.parametrize("style", ["font-size:0px", "font-size:0.0em", "opacity: 0.0"])
def test_nothing_and_a_fraction_of_nothing_are_both_hidden(style: str) -> None:
    assert text_of(f"<p style='{style}'>X</p>after") == "after"


@pytest.mark.parametrize(
    ("page", "target"),
    [
        ("<base href='/docs/'><a href='x'>l</a>", "https://example.org/docs/x"),
        ("<base target=_top><base href='https://e.org/d/f'><a href=x>l</a>", "https://e.org/d/x"),
        # The first counts, and a link may come before it
        ("<base href=/one/><base href=/two/><a href=x>l</a>", "https://example.org/one/x"),
        ("<base href='http://[::1'><a href=x>l</a>", "https://example.org/a/x"),
        ("<base href='javascript:1'><a href=x>l</a>", "https://example.org/a/x"),
    ],
)
def test_a_link_leads_where_the_page_says_it_begins(page: str, target: str) -> None:
    assert text_of(page) == f"[l]({target})"


@pytest.mark.parametrize("drawing", ["<svg class=icon />", "<math/>", "<svg/><svg><title/></svg>"])
def test_a_drawing_that_ends_itself_hides_nothing_behind_it(drawing: str) -> None:
    assert text_of(f"<div>{drawing} shown</div>") == "shown"


@pytest.mark.parametrize(
    "page",
    [
        "<ul><li hidden>X<li>shown</ul>",
        "<p hidden>X<p>shown",
        "<p hidden>X<ul><li>shown</ul>",
        "<dl><dt hidden>X<dd hidden><p>X<dt>shown</dl>",
        "<table><tr hidden><td>X<tr><td hidden>X<th>shown</table>",
        "<table><tbody hidden><tr><td>X<tbody><tr><td>shown</table>",
    ],
)
def test_what_is_hidden_ends_where_html_ends_it(page: str) -> None:
    assert text_of(page).strip("- |") == "shown"


def test_a_list_inside_another_keeps_both() -> None:
    page = "<ul><li hidden>X<ul><li>X<li>X</ul>X<li>a<ul><li>b</ul>c</ul>"
    assert text_of(page).split("\n\n") == ["- a", "- b", "c"]


@pytest.mark.parametrize("again", ["<p>a", "<ul><li>a</ul>", "<li>a", "<tr><td>a<td>b", "<dd>a"])
def test_many_parts_that_are_not_closed_do_not_count_as_depth(again: str) -> None:
    assert text_of(again * 600 + "<script>X</script><p hidden>X</p>").endswith(("a", "b"))
