import pytest

from agent.channels.discord.rate_limits import DiscordRateLimits, route_of
from agent.errors import ChannelUnavailable
from tests.fakes.clock import SteppedClock

MESSAGES = "/channels/123456/messages"


class Answer:
    """As much of an answer as limits look at."""

    def __init__(self, remaining: str, reset_after: str, bucket: str = "abcd") -> None:
        self._headers = {
            "x-ratelimit-bucket": bucket,
            "x-ratelimit-remaining": remaining,
            "x-ratelimit-reset-after": reset_after,
        }

    def header(self, name: str) -> str:
        return self._headers.get(name, "")


def test_a_chat_counts_and_which_of_its_messages_does_not() -> None:
    assert route_of("PATCH", f"{MESSAGES}/999999") == route_of("PATCH", f"{MESSAGES}/888888")
    assert route_of("POST", MESSAGES) != route_of("POST", "/channels/654321/messages")
    assert route_of("PUT", f"{MESSAGES}/999999/reactions/a/@me") == (
        "PUT /channels/123456/messages/:id/reactions"
    )


def test_what_is_used_up_is_not_asked_until_it_is_there_again() -> None:
    clock = SteppedClock()
    limits = DiscordRateLimits(clock)
    limits.note("POST", MESSAGES, Answer("1", "2.0"))  # type: ignore[arg-type]  # of the tests
    limits.demand("POST", MESSAGES)
    limits.note("POST", MESSAGES, Answer("0", "2.5"))  # type: ignore[arg-type]  # of the tests
    with pytest.raises(ChannelUnavailable) as caught:
        limits.demand("POST", MESSAGES)
    assert caught.value.retry_after_s == pytest.approx(2.5)
    limits.demand("POST", "/channels/654321/messages")
    clock.advance(2.6)
    limits.demand("POST", MESSAGES)


def test_routes_of_one_bucket_share_what_is_left() -> None:
    limits = DiscordRateLimits(SteppedClock())
    limits.note("PATCH", f"{MESSAGES}/999999", Answer("3", "1"))  # type: ignore[arg-type]  # of the tests
    limits.note("POST", MESSAGES, Answer("0", "1"))  # type: ignore[arg-type]  # of the tests
    assert limits.left_s("PATCH", f"{MESSAGES}/777777") == pytest.approx(1)


def test_a_refusal_for_everything_is_for_everything() -> None:
    limits = DiscordRateLimits(SteppedClock())
    limits.refused("POST", MESSAGES, 3.0, is_global=True)
    assert limits.left_s("GET", "/users/@me") == pytest.approx(3)
