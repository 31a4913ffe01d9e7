import json

import pytest

from agent.errors import TransientProviderError
from agent.providers.sse import MAX_EVENT_BYTES, ServiceSseParser


def test_a_stream_becomes_the_data_of_its_events() -> None:
    parser = ServiceSseParser()
    assert parser.feed(b"data: one\n\ndata: two\n") == ["one"]
    assert parser.close() == ["two"]


def test_an_event_without_end_is_a_failure_that_may_pass() -> None:
    with pytest.raises(TransientProviderError, match="256 KB"):
        ServiceSseParser().feed(b"x" * (MAX_EVENT_BYTES + 1))


@pytest.mark.parametrize(
    "stream",
    [
        b'error: {"code":400,"message":"too long"}\n\n',
        b'{"error":{"code":400,"message":"too long"}}',
        b'{ "error" : {"code":400,"message":"too long"}}\n',
    ],
)
@pytest.mark.parametrize("piece_bytes", [1, 7, 100])
def test_an_error_in_place_of_an_event_is_one(stream: bytes, piece_bytes: int) -> None:
    parser = ServiceSseParser()
    cut = [stream[at : at + piece_bytes] for at in range(0, len(stream), piece_bytes)]
    found = [event for piece in cut for event in parser.feed(piece)] + parser.close()
    assert [json.loads(event) for event in found] == [
        {"error": {"code": 400, "message": "too long"}}
    ]
