"""Lengths of time as services write them."""

import pytest

from agent.providers.waits import span_s, told_s


@pytest.mark.parametrize(
    ("text", "expected_s"),
    [
        ("6m0s", 360.0),
        ("1h2m3.5s", 3723.5),
        ("1d2h", 93600.0),
        ("1m30s", 90.0),
        ("17ms", 0.017),
        ("500µs", 0.0005),
        ("300ns", 3e-7),
        ("2m59.56s", 179.56),
        ("30 s", 30.0),
        ("2 minutes", 120.0),
        ("1 hour and 5 minutes", 3900.0),
        ("0s", 0.0),
        ("12", None),
        ("", None),
        ("-1s", None),
        ("1s ago", None),
        ("5 moons", None),
    ],
)
def test_a_length_of_time_is_read_in_every_form(text: str, expected_s: float | None) -> None:
    assert span_s(text) == (None if expected_s is None else pytest.approx(expected_s))


@pytest.mark.parametrize(
    ("message", "expected_s"),
    [
        # OpenAI, Groq, Gemini, Cohere, Azure
        ("Rate limit reached. Please try again in 1h2m3s. Visit https://x.", 3723.0),
        ("Please try again in 1m30s", 90.0),
        ("Please try again in 6m0s.", 360.0),
        ("Please try again in 4m.", 240.0),
        ("Please try again in 1.5s.", 1.5),
        ("Please try again in 882ms.", 0.882),
        ("Please retry in 36.520633337s.", 36.520633337),
        ("Please retry after 30 seconds.", 30.0),
        ("Please try again in 2 minutes.", 120.0),
        ("Try again in 1 hour", 3600.0),
        ("Please wait 5 seconds before you ask again", 5.0),
        ("try again in a while. Retry in 3s", 3.0),
        ("try again in 5 moons", None),
        ("it took 5s", None),
        ("Limit 30000, Used 20000. Please try again later.", None),
    ],
)
def test_the_wait_in_a_message_is_read(message: str, expected_s: float | None) -> None:
    assert told_s(message) == (None if expected_s is None else pytest.approx(expected_s))
