"""Names of things in questions: by what their owner calls them."""

import pytest

from agent.messages import Effect
from tests.providers.offline.talk import Talk
from tests.providers.offline.toolset import AGENT, spec

CALLED = (
    spec(
        "board_gpio_write",
        "Switch an output on or off.",
        {
            "pin": {
                "enum": ["out_1", "out_2", "out_3"],
                "description": "out_1 (valve 1), out_2 (バルブ1, 밸브 1), out_3 (バルブ2, 밸브 2)",
            },
            "value": {"enum": ["off", "on"]},
        },
        effect=Effect.ACTUATE,
    ),
    *AGENT,
)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("maybe open valve 1", ["valve 1 on"]),
        ("バルブを開けて", ["バルブ1", "バルブ2"]),
    ],
)
async def test_a_question_names_a_thing_as_its_owner_does(said: str, named: list[str]) -> None:
    text = (await Talk(CALLED).say(said)).text
    assert text.endswith(("?", "？"))
    assert all(name in text for name in named), text
