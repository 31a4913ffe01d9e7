"""An answer as it is said."""

import pytest

from agent.channels.speech.base import MAX_SPOKEN_CHARS, spoken_text


@pytest.mark.parametrize(
    ("markdown", "said"),
    [
        ("The **led** is `on` now.", "The led is on now."),
        ("# Today\n\n* 21 °C\n* dry", "Today • 21 °C • dry"),
        ("See [the page](https://example.org/x).", "See the page"),
        ("```\nx = 1\n```", ""),
        ("a " * MAX_SPOKEN_CHARS, ""),
        (" ", ""),
    ],
)
def test_what_is_for_the_ears_is_said(markdown: str, said: str) -> None:
    assert spoken_text(markdown).startswith(said)
    assert bool(spoken_text(markdown)) is bool(said)
    assert "http" not in spoken_text(markdown)
