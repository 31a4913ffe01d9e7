import json

import pytest

from agent.errors import BadArguments
from agent.messages import Effect, Provenance
from agent.security.policy import Autonomy, GateCall, Policy, Verdict, decide
from agent.security.web_addresses import WebRules
from agent.tools.web_fetch import PART_CHARS, WebFetchTool
from tests.fakes.pages import PreparedWeb, page, redirect
from tests.fakes.workspace import refused, told, used

HTML = b"<title>Basil</title><h1>Basil</h1><p>Water it <a href='/how'>daily</a>."


async def test_a_page_is_read_as_text_and_trusted_as_the_web_is() -> None:
    web = PreparedWeb({"https://example.org/basil": page(HTML, "text/html; charset=utf-8")}).web
    result = await used(WebFetchTool(web), url="https://example.org/basil#top")
    assert (result.provenance, result.source) == (Provenance.WEB, "https://example.org/basil")
    assert result.text == (
        '{"url":"https://example.org/basil","title":"Basil","text":"# Basil\\n\\nWater it '
        '[daily](https://example.org/how).","more":false}'
    )


async def test_the_source_is_where_the_redirects_led() -> None:
    answers = {
        "http://example.org/": redirect("https://www.example.org/"),
        "https://www.example.org/": page(),
    }
    result = await used(WebFetchTool(PreparedWeb(answers).web), url="http://example.org/")
    assert result.source == "https://www.example.org/"


async def test_where_another_host_is_named_it_is_told_and_nobody_goes_there() -> None:
    prepared = PreparedWeb({"http://example.org/": redirect("https://evil.example.com/?k=v")})
    result = await used(WebFetchTool(prepared.web), url="http://example.org/")
    assert json.loads(result.text) == {
        "url": "http://example.org/",
        "redirects_to": "https://evil.example.com/?k=v",
        "followed": False,
    }
    assert (result.provenance, result.source) == (Provenance.WEB, "http://example.org/")
    assert len(prepared.requests) == 1


async def test_a_long_text_comes_in_parts() -> None:
    text = "".join(f"{number:09}\n" for number in range(2500))
    parts = []
    for part in (1, 2, 3, 4):
        web = PreparedWeb({"http://example.org/": page(text.encode())}).web
        parts.append(await told(WebFetchTool(web), url="http://example.org/", part=part))
    assert [len(str(part["text"])) for part in parts] == [PART_CHARS, PART_CHARS, 5000, 0]
    assert [part["more"] for part in parts] == [True, True, False, False]
    assert "".join(str(part["text"]) for part in parts) == text


@pytest.mark.parametrize(
    ("kind", "body"), [("application/json", b"{}"), ("application/rss+xml", b"<a/>"), ("", b"x")]
)
async def test_other_texts_are_shown_as_they_are(kind: str, body: bytes) -> None:
    web = PreparedWeb({"http://example.org/": page(body, kind)}).web
    assert (await told(WebFetchTool(web), url="http://example.org/"))["text"] == body.decode()


@pytest.mark.parametrize(
    ("kind", "body"),
    [("image/png", b"\x89PNG"), ("application/zip", b"PK"), ("text/plain", b"a\0b")],
)
async def test_what_is_no_text_is_refused(kind: str, body: bytes) -> None:
    web = PreparedWeb({"http://example.org/": page(body, kind)}).web
    text = await refused(WebFetchTool(web), url="http://example.org/")
    assert text == f"this is {kind}, not text"


async def test_an_answer_that_is_no_page_is_an_error_without_its_words() -> None:
    answers = {"http://example.org/": page(b"no key canary-7f3a", status=401)}
    text = await refused(WebFetchTool(PreparedWeb(answers).web), url="http://example.org/")
    assert text == "the page answered with status 401"


async def test_pages_beyond_the_list_are_refused() -> None:
    web = PreparedWeb({"http://example.org/": page()}, rules=WebRules(("example.org",))).web
    assert (await used(WebFetchTool(web), url="http://example.org/")).success
    with pytest.raises(BadArguments, match="not in \\[web\\] allow"):
        WebFetchTool(web).parse('{"url": "http://example.com/"}')


@pytest.mark.parametrize(
    "arguments",
    [
        "{}",
        '{"url": ""}',
        '{"url": "http://example.org/", "part": 0}',
        '{"url": "http://example.org/", "approved": true}',
        '{"url": "file:///etc/passwd"}',
        '{"url": "http://127.0.0.1/"}',
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: str) -> None:
    with pytest.raises(BadArguments):
        WebFetchTool(PreparedWeb({}).web).parse(arguments)


@pytest.mark.parametrize("provenance", [one for one in Provenance if one < Provenance.OWNER])
@pytest.mark.parametrize("autonomy", Autonomy)
def test_nothing_is_sent_out_on_the_word_of_a_page(
    provenance: Provenance, autonomy: Autonomy
) -> None:
    assert WebFetchTool.effect is Effect.NETWORK
    decision = decide(GateCall("web_fetch", Effect.NETWORK), provenance, Policy(autonomy), {})
    assert decision.verdict is not Verdict.ALLOW


def test_always_is_for_the_pages_of_one_host() -> None:
    tool = WebFetchTool(PreparedWeb({}).web)
    patterns = [
        tool.always_for(tool.parse(json.dumps({"url": url})))
        for url in ("https://a.org/", "https://a.org/b?c", "https://b.org/", "http://a.org/")
    ]
    assert patterns[0] == patterns[1]
    assert len({json.dumps(one.fixed) for one in patterns}) == 3
    assert patterns[0].words == "reading any page of https://a.org"
