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
