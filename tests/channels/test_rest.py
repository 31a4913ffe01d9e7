import httpx
import pytest

from agent.channels import rest
from agent.errors import ChannelUnavailable
from agent.net.http import HttpClient, HttpRequest

HERE = HttpRequest("GET", "http://platform.example/secret-token/things")


def answering(
    status: int, content: bytes = b"", headers: dict[str, str] | None = None
) -> HttpClient:
    def handle(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers=headers, stream=httpx.ByteStream(content))

    return HttpClient(httpx.MockTransport(handle))


async def test_an_answer_is_told_with_its_status_and_headers() -> None:
    http = answering(429, b'{"wait": 3}', {"Retry-After": "3"})
    reply = await rest.asked(http, HERE)
    assert (reply.status, reply.host, reply.fields) == (429, "platform.example", {"wait": 3})
    assert (reply.header("retry-after"), reply.header("x-other")) == ("3", "")


@pytest.mark.parametrize("page", [b"<html>", b"", b"\xff\xfe", b"[" * 100_000, b'{"a":'])
async def test_a_page_of_something_in_between_tells_nothing(page: bytes) -> None:
    reply = await rest.asked(answering(502, page), HERE)
    assert (reply.status, reply.told, reply.fields) == (502, None, {})


async def test_what_is_no_object_has_no_fields() -> None:
    reply = await rest.asked(answering(200, b"[1, 2]"), HERE)
    assert (reply.told, reply.fields) == ([1, 2], {})


async def test_an_answer_that_is_too_long_is_left() -> None:
    http = answering(200, b"1" * 101)
    with pytest.raises(ChannelUnavailable, match=r"platform\.example too long"):
        await rest.asked(http, HERE, max_bytes=100)


async def test_no_network_is_told_without_the_address() -> None:
    def handle(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(ChannelUnavailable, match="could not be reached") as caught:
        await rest.asked(HttpClient(httpx.MockTransport(handle)), HERE)
    assert "secret" not in str(caught.value)


async def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(ChannelUnavailable, match=r"platform\.example answered 404 to a download"):
        async with rest.file_from(answering(404), HERE):
            pass


async def test_a_file_comes_as_it_is() -> None:
    http = answering(200, b"a file")
    async with rest.file_from(http, HERE) as answer:
        assert await answer.read() == b"a file"


@pytest.mark.parametrize(
    ("told", "wait_s"),
    [
        (2, 2.0),
        (0.3, 0.3),
        ("7", 7.0),
        ("0.25", 0.25),
        (0, 5.0),
        (-1, 5.0),
        ("", 5.0),
        (None, 5.0),
        ({}, 5.0),
        ("soon", 5.0),
        ("\xb2", 5.0),
        ("nan", 5.0),
        ("inf", 60.0),
        (10**400, 5.0),
        (1e12, 60.0),
    ],
)
def test_a_time_is_what_the_platform_says_within_reason(told: object, wait_s: float) -> None:
    assert rest.seconds(told, 5.0, 60.0) == wait_s


@pytest.mark.parametrize(
    ("told", "words"),
    [("no\nway\x1b", "no way"), ("a" * 300, "a" * 200), (None, ""), (5, ""), ({"a": 1}, "")],
)
def test_a_reason_is_a_short_line(told: object, words: str) -> None:
    assert rest.reason_in(told) == words


def test_a_request_says_json_or_nothing() -> None:
    silent = rest.json_request("GET", "http://here", {"a": "b"})
    said = rest.json_request("POST", "http://here", {"a": "b"}, {"text": "größer \ud800"})
    assert (silent.headers, silent.content) == ({"a": "b"}, b"")
    assert said.headers == {"content-type": "application/json", "a": "b"}
    assert said.content == '{"text": "größer ?"}'.encode()
