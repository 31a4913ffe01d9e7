import pytest

from agent.channels.opcodes.address import checked, told_address
from agent.errors import ChannelUnavailable

BASE = "https://api.example.org"


@pytest.mark.parametrize("url", ["ws://a", "http://a", "wss://", "", "nowhere", "wss://[a"])
def test_the_token_never_goes_out_in_the_clear(url: str) -> None:
    with pytest.raises(ChannelUnavailable):
        checked(url, BASE)


@pytest.mark.parametrize("url", ["ws://127.0.0.1:1", "wss://a"])
def test_whoever_speaks_in_the_clear_anyway_may_go_on_so(url: str) -> None:
    assert checked(url, "http://127.0.0.1:2") == url


@pytest.mark.parametrize("told", [None, [], {}, {"url": 7}, "wss://a"])
def test_an_answer_without_an_address_is_none(told: object) -> None:
    with pytest.raises(ChannelUnavailable, match="cannot be trusted"):
        told_address(told, "It", BASE)


@pytest.mark.parametrize("limit", [None, [], {"remaining": 1}, {"remaining": "0"}])
def test_an_address_is_told_while_sessions_may_begin(limit: object) -> None:
    told = {"url": "wss://a", "session_start_limit": limit}
    assert told_address(told, "It", BASE) == "wss://a"


@pytest.mark.parametrize(("after", "wait_s"), [(1500, 1.5), ("soon", None)])
def test_whoever_may_begin_no_more_sessions_waits(after: object, wait_s: float | None) -> None:
    limit = {"remaining": 0, "reset_after": after}
    with pytest.raises(ChannelUnavailable, match="too many sessions with It") as caught:
        told_address({"url": "wss://a", "session_start_limit": limit}, "It", BASE)
    assert caught.value.retry_after_s == wait_s
