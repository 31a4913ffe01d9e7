"""Web search services: the request of each, and the meaning of its answer.

DuckDuckGo shares no search results, so only its instant answers are used.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from urllib.parse import urlencode

import msgspec
from msgspec import Struct

from agent.tools.settings import SearchSettings, WebSettings
from agent.tools.web import WebRequest

BRAVE_URL = "https://api.search.brave.com/res/v1/web/search"
TAVILY_URL = "https://api.tavily.com/search"
DUCKDUCKGO_URL = "https://api.duckduckgo.com/"
_JSON = {"accept": "application/json"}
_KEY_REFUSED = "refuses the key in [web.search]"
_TOO_OFTEN = "had too many requests: try again later"
# What a status means where it is not just a failure
_REFUSALS = {401: _KEY_REFUSED, 403: _KEY_REFUSED, 429: _TOO_OFTEN}
_NO_CREDIT = "has no credit left for this key"
_NO_JSON = "returns no JSON: add json to search.formats in its settings.yml"


class Hit(msgspec.Struct, frozen=True):
    """One search result."""

    title: str
    url: str
    snippet: str = ""


class SearchService(Struct, frozen=True):
    """A search service.

    Args:
        request: for a query and how many hits are wanted.
        read: the hits in an answer; raises msgspec.DecodeError for what is none.
        refusals: what statuses of it mean.
    """

    name: str
    request: Callable[[str, int], WebRequest]
    read: Callable[[bytes], Sequence[Hit]]
    refusals: Mapping[int, str]


def chosen(settings: WebSettings) -> SearchService | None:
    """Return the service that the owner chose, if any."""
    name, wanted = next(iter(settings.search.items()), ("", SearchSettings()))
    key = wanted.key.reveal()
    match name:
        case "brave":
            return SearchService("Brave", partial(_ask_brave, key), _read_brave, _REFUSALS)
        case "tavily":
            refusals = {**_REFUSALS, 432: _NO_CREDIT, 433: _NO_CREDIT}
            return SearchService("Tavily", partial(_ask_tavily, key), _read_content, refusals)
        case "searxng":
            refusals = {403: _NO_JSON, 429: _TOO_OFTEN}
            ask = partial(_ask_searxng, wanted.url)
            return SearchService("the SearXNG", ask, _read_content, refusals)
        case "duckduckgo":
            return SearchService("DuckDuckGo", _ask_duckduckgo, _read_duckduckgo, _REFUSALS)
    return None


def _ask_brave(key: str, query: str, count: int) -> WebRequest:
    words = urlencode({"q": query, "count": count, "text_decorations": "false"})
    return WebRequest("GET", f"{BRAVE_URL}?{words}", {**_JSON, "x-subscription-token": key})


def _ask_tavily(key: str, query: str, count: int) -> WebRequest:
    headers = {**_JSON, "content-type": "application/json", "authorization": f"Bearer {key}"}
    body = {"query": query, "max_results": count, "search_depth": "basic"}
    return WebRequest("POST", TAVILY_URL, headers, msgspec.json.encode(body))


def _ask_searxng(base: str, query: str, count: int) -> WebRequest:
    # How many it gives is its own decision
    del count
    words = urlencode({"q": query, "format": "json"})
    return WebRequest("GET", f"{base.rstrip('/')}/search?{words}", _JSON)


def _ask_duckduckgo(query: str, count: int) -> WebRequest:
    del count
    asked = {"q": query, "format": "json", "no_html": 1, "no_redirect": 1, "skip_disambig": 1}
    return WebRequest("GET", f"{DUCKDUCKGO_URL}?{urlencode(asked)}", _JSON)


class _Result(msgspec.Struct):
    title: str | None = None
    url: str | None = None
    # Brave calls it the one, SearXNG and Tavily the other
    description: str | None = None
    content: str | None = None


class _Results(msgspec.Struct):
    results: list[_Result] = []


class _Brave(msgspec.Struct):
    web: _Results | None = None


class _Topic(msgspec.Struct):
    text: str = msgspec.field(default="", name="Text")
    url: str = msgspec.field(default="", name="FirstURL")
    # A group of topics has no words of its own
    topics: "list[_Topic]" = msgspec.field(default_factory=list, name="Topics")


class _Instant(msgspec.Struct):
    heading: str = msgspec.field(default="", name="Heading")
    text: str = msgspec.field(default="", name="AbstractText")
    url: str = msgspec.field(default="", name="AbstractURL")
    results: list[_Topic] = msgspec.field(default_factory=list, name="Results")
    topics: list[_Topic] = msgspec.field(default_factory=list, name="RelatedTopics")


def _read_brave(body: bytes) -> Sequence[Hit]:
    found = msgspec.json.decode(body, type=_Brave)
    return _hits(found.web.results if found.web else [])


def _read_content(body: bytes) -> Sequence[Hit]:
    return _hits(msgspec.json.decode(body, type=_Results).results)


def _read_duckduckgo(body: bytes) -> Sequence[Hit]:
    found = msgspec.json.decode(body, type=_Instant)
    first = [Hit(found.heading, found.url, found.text)] if found.text and found.url else []
    return [*first, *_topics([*found.results, *found.topics])]


def _topics(topics: Sequence[_Topic]) -> Iterator[Hit]:
    for topic in topics:
        if topic.text and topic.url:
            yield Hit(topic.text.partition(" - ")[0], topic.url, topic.text)
        for inner in topic.topics:
            if inner.text and inner.url:
                yield Hit(inner.text.partition(" - ")[0], inner.url, inner.text)


def _hits(results: Sequence[_Result]) -> list[Hit]:
    return [
        Hit(one.title or one.url, one.url, one.description or one.content or "")
        for one in results
        if one.url
    ]
