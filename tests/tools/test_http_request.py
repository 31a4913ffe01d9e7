import json
import logging

import pytest

from agent.errors import BadArguments
from agent.messages import Effect, Provenance
from agent.tools.http_request import MAX_SENT_BYTES, MAX_SHOWN_CHARS, HttpRequestTool
from tests.fakes.pages import PreparedWeb, page, redirect
from tests.fakes.workspace import refused, told, used

URL = "https://api.example.org/v1"


async def test_a_request_is_sent_as_it_was_asked_for() -> None:
    prepared = PreparedWeb({URL: page(b'{"ok":true}', "application/json")})
    result = await used(
        HttpRequestTool(prepared.web),
        url=URL,
        method="POST",
        headers={"X-Token": "abc", "Content-Type": "application/json"},
        body='{"on":true}',
    )
    assert (result.provenance, result.source) == (Provenance.WEB, URL)
    assert json.loads(result.text) == {
        "status": 200, "url": URL, "body": '{"ok":true}', "more": False,
    }  # fmt: skip
    (request,) = prepared.requests
    assert (request.method, request.read()) == ("POST", b'{"on":true}')
    assert (request.headers["x-token"], request.headers["content-length"]) == ("abc", "11")


async def test_a_failure_is_told_with_its_status_and_words() -> None:
    prepared = PreparedWeb({URL: page(b"no such thing", status=404)})
    found = await told(HttpRequestTool(prepared.web), url=URL)
    assert (found["status"], found["body"]) == (404, "no such thing")


async def test_where_a_change_is_redirected_to_is_only_told() -> None:
    prepared = PreparedWeb({URL: redirect("https://elsewhere.example.com/", 307)})
    found = await told(HttpRequestTool(prepared.web), url=URL, method="DELETE")
    assert (found["status"], found["location"]) == (307, "https://elsewhere.example.com/")


async def test_a_body_that_is_no_text_is_left_out() -> None:
    prepared = PreparedWeb({URL: page(b"\x89PNG", "image/png")})
    found = await told(HttpRequestTool(prepared.web), url=URL)
    assert found["left_out"] == "4 bytes of image/png, not text"
    assert "body" not in found


async def test_a_long_body_is_cut_and_that_is_said() -> None:
    prepared = PreparedWeb({URL: page(b"x" * (MAX_SHOWN_CHARS + 1))})
    found = await told(HttpRequestTool(prepared.web), url=URL)
    assert (len(str(found["body"])), found["more"]) == (MAX_SHOWN_CHARS, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example.com"},
        {"content-length": "5"},
        {"Transfer-Encoding": "chunked"},
        {"Proxy-Authorization": "Basic x"},
        {"X-Forwarded-For": "127.0.0.1"},
        # Rack, Symfony and others do what these say, and not what the request is
        {"X-HTTP-Method-Override": "DELETE"},
        {"x-http-method": "DELETE"},
        {"X-Method-Override": "DELETE"},
        {"X-Original-URL": "/admin"},
        {"X-Rewrite-URL": "/admin"},
        # Programs behind CGI and WSGI are told of both by one name
        {"X_HTTP_Method_Override": "DELETE"},
        {"x_forwarded_for": "127.0.0.1"},
        {"a b": "c"},
        {"": "c"},
        {"a:": "c"},
        {"a\r\nhost": "c"},
        {"a": "b\r\nhost: c"},
        {"a": "b\nc"},
        {"a": "ü"},
        {"a": "b" * 5000},
        {f"h{number}": "x" for number in range(21)},
    ],
)
def test_headers_that_are_not_the_models_to_set_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(BadArguments):
        HttpRequestTool(PreparedWeb({}).web).parse(json.dumps({"url": URL, "headers": headers}))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"url": URL, "method": "TRACE"},
        {"url": URL, "method": "CONNECT"},
        {"url": URL, "method": "get"},
        {"url": URL, "body": "x" * (MAX_SENT_BYTES + 1)},
        {"url": URL, "body": "ü" * MAX_SENT_BYTES},
        {"url": "http://192.168.1.1/"},
        {"url": URL, "follow": True},
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(BadArguments):
        HttpRequestTool(PreparedWeb({}).web).parse(json.dumps(arguments))
    assert HttpRequestTool.effect is Effect.NETWORK


async def test_secrets_are_neither_logged_nor_told_when_it_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    prepared = PreparedWeb({URL: redirect("http://127.0.0.1/canary-7f3a")})
    text = await refused(
        HttpRequestTool(prepared.web),
        url=f"{URL}?key=canary-7f3a",
        headers={"authorization": "Bearer canary-7f3a"},
        body="canary-7f3a",
    )
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("agent")]
    assert "canary" not in f"{text}{logged}"


@pytest.mark.parametrize(
    ("url", "method", "is_covered"),
    [
        (f"{URL}?other=1", "GET", True),
        (URL, "POST", False),
        ("https://elsewhere.example.com/v1", "GET", False),
        ("https://api.example.org:8443/v1", "GET", False),
        ("http://api.example.org/v1", "GET", False),
    ],
)
def test_always_is_for_the_host_and_what_is_done_with_it(
    url: str, method: str, *, is_covered: bool
) -> None:
    tool = HttpRequestTool(PreparedWeb({}).web)
    given = tool.always_for(tool.parse(json.dumps({"url": URL})))
    other = tool.always_for(tool.parse(json.dumps({"url": url, "method": method})))
    assert (other.fixed == given.fixed) is is_covered
    assert "GET requests to https://api.example.org" in given.words
