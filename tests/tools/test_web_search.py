"""Answers as the services' own documentation has them."""

import json

import httpx
import pytest

from agent.config import Secret
from agent.errors import BadArguments
from agent.messages import Effect, Provenance
from agent.security.web_addresses import WebRules
from agent.tools.search_services import BRAVE_URL, DUCKDUCKGO_URL, TAVILY_URL, chosen
from agent.tools.settings import SearchSettings, WebSettings
from agent.tools.web_search import MAX_SNIPPET_CHARS, WebSearchTool
from tests.canaries import secret
from tests.fakes.pages import PreparedWeb, page
from tests.fakes.workspace import refused, told, used

KEY = secret("search")
NO_JSON = "returns no JSON: add json to search.formats in its settings.yml"
SEARXNG = "http://192.168.1.20:8080"
BRAVE_ANSWER = {
    "type": "search",
    "query": {"original": "basil", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {
                "title": "Basil &amp; you",
                "url": "https://a.example.com/",
                "description": "Water <strong>basil</strong> daily",
            },
            {"title": "No address", "description": "x"},
            {"title": "Odd", "url": "javascript:alert(1)", "description": "x"},
            {"title": "Second", "url": "https://b.example.com/", "profile": {"name": "B"}},
        ],
    },
}
TAVILY_ANSWER = {
    "query": "basil",
    "answer": None,
    "images": [],
    "response_time": 1.09,
    "results": [
        {
            "title": "Basil",
            "url": "https://a.example.com/",
            "content": "Water it",
            "score": 0.9,
            "raw_content": None,
        }
    ],
}
SEARXNG_ANSWER = {
    "query": "basil",
    "number_of_results": 0,
    "results": [
        {
            "url": "https://a.example.com/",
            "title": "Basil",
            "content": "Water it",
            "engine": "x",
            "engines": ["x"],
            "score": 1.0,
        }
    ],
    "answers": [],
    "unresponsive_engines": [],
}
DUCKDUCKGO_ANSWER = {
    "Heading": "Basil",
    "AbstractText": "Basil is an herb.",
    "AbstractURL": "https://en.wikipedia.org/wiki/Basil",
    "Answer": {},
    "Results": [],
    "RelatedTopics": [
        {
            "FirstURL": "https://duckduckgo.com/Thai_basil",
            "Icon": {},
            "Text": "Thai basil - A kind of basil",
        },
        {
            "Name": "Other",
            "Topics": [{"FirstURL": "https://duckduckgo.com/x", "Text": "Basil Hall"}],
        },
        {"Text": ""},
    ],
}


def searching(name: str, url: str, answer: httpx.Response) -> tuple[WebSearchTool, PreparedWeb]:
    wanted = SearchSettings(url=SEARXNG, key=Secret(KEY))
    service = chosen(WebSettings(search={name: wanted}))
    assert service is not None
    prepared = PreparedWeb({url: answer}, rules=WebRules(local=(wanted.spot,)))
    return WebSearchTool(prepared.web, service), prepared


def in_json(answer: object) -> httpx.Response:
    return page(json.dumps(answer).encode(), "application/json")


async def test_brave_is_asked_as_it_wants_it() -> None:
    tool, prepared = searching("brave", BRAVE_URL, in_json(BRAVE_ANSWER))
    assert await told(tool, query="basil & mint", limit=3) == {
        "found": [
            {"title": "Basil & you", "url": "https://a.example.com/", "text": "Water basil daily"},
            {"title": "Second", "url": "https://b.example.com/", "text": ""},
        ]
    }
    (request,) = prepared.requests
    assert (request.method, request.headers["x-subscription-token"]) == ("GET", KEY)
    assert dict(request.url.params) == {
        "q": "basil & mint",
        "count": "3",
        "text_decorations": "false",
    }


async def test_tavily_is_asked_as_it_wants_it() -> None:
    tool, prepared = searching("tavily", TAVILY_URL, in_json(TAVILY_ANSWER))
    found = await told(tool, query="basil")
    assert found["found"] == [
        {"title": "Basil", "url": "https://a.example.com/", "text": "Water it"}
    ]
    (request,) = prepared.requests
    assert (request.method, request.headers["authorization"]) == ("POST", f"Bearer {KEY}")
    assert json.loads(request.read()) == {
        "query": "basil",
        "max_results": 5,
        "search_depth": "basic",
    }


async def test_a_searxng_at_home_is_asked_as_it_wants_it() -> None:
    tool, prepared = searching("searxng", f"{SEARXNG}/search", in_json(SEARXNG_ANSWER))
    found = await told(tool, query="basil")
    assert found["found"] == [
        {"title": "Basil", "url": "https://a.example.com/", "text": "Water it"}
    ]
    (request,) = prepared.requests
    assert dict(request.url.params) == {"q": "basil", "format": "json"}
    assert KEY not in str(request.headers.raw)


async def test_duckduckgo_is_asked_for_what_it_gives() -> None:
    tool, _ = searching("duckduckgo", DUCKDUCKGO_URL, in_json(DUCKDUCKGO_ANSWER))
    found = (await told(tool, query="basil"))["found"]
    assert isinstance(found, list)
    assert [hit["title"] for hit in found] == ["Basil", "Thai basil", "Basil Hall"]
    assert found[0]["text"] == "Basil is an herb."


async def test_what_is_found_is_trusted_as_the_web_is() -> None:
    tool, _ = searching("brave", BRAVE_URL, in_json(BRAVE_ANSWER))
    result = await used(tool, query="basil")
    assert result.provenance is Provenance.WEB
    assert result.source == "web_search:api.search.brave.com"
    assert tool.effect is Effect.NETWORK


async def test_hits_are_bounded_and_show_nothing_hidden() -> None:
    hits = [
        {"title": "a\u202eb\nc", "url": "https://a.example.com/", "content": "x\u200b " * 2000}
    ] * 30
    tool, _ = searching("tavily", TAVILY_URL, in_json({"results": hits}))
    found = (await told(tool, query="basil", limit=20))["found"]
    assert isinstance(found, list)
    assert (len(found), found[0]["title"]) == (20, "ab c")
    assert len(found[0]["text"]) == MAX_SNIPPET_CHARS


@pytest.mark.parametrize(
    ("name", "url", "status", "why"),
    [
        ("brave", BRAVE_URL, 401, "Brave refuses the key in [web.search]"),
        ("brave", BRAVE_URL, 429, "Brave had too many requests: try again later"),
        ("brave", BRAVE_URL, 500, "Brave answered with status 500"),
        ("tavily", TAVILY_URL, 432, "Tavily has no credit left for this key"),
        ("searxng", f"{SEARXNG}/search", 403, f"the SearXNG {NO_JSON}"),
        ("duckduckgo", DUCKDUCKGO_URL, 202, "DuckDuckGo answered with status 202"),
    ],
)
async def test_a_refusal_says_what_to_do_and_repeats_nothing(
    name: str, url: str, status: int, why: str
) -> None:
    body = json.dumps({"detail": {"error": f"bad key {KEY}"}}).encode()
    tool, _ = searching(name, url, page(body, "application/json", status))
    assert await refused(tool, query="basil") == why


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"results": 5}', b'{"results":[5]}', b"\xff", b"[" * 90_000]
)
async def test_an_answer_that_is_none_is_a_sentence(body: bytes) -> None:
    tool, _ = searching("tavily", TAVILY_URL, page(body, "application/json"))
    assert await refused(tool, query="basil") == "Tavily gave an invalid answer"


async def test_nothing_found_is_no_failure() -> None:
    tool, _ = searching("brave", BRAVE_URL, in_json({"type": "search"}))
    assert await told(tool, query="basil") == {"found": []}


@pytest.mark.parametrize(
    "arguments",
    ["{}", '{"query": ""}', '{"query": "a", "limit": 21}', '{"query": "a", "engine": "x"}'],
)
def test_arguments_that_make_no_sense_are_refused(arguments: str) -> None:
    tool, _ = searching("brave", BRAVE_URL, page())
    with pytest.raises(BadArguments):
        tool.parse(arguments)
    with pytest.raises(BadArguments):
        tool.parse(json.dumps({"query": "a" * 401}))


def test_nobody_is_asked_unless_somebody_was_chosen() -> None:
    assert chosen(WebSettings()) is None
