"""Questions that offer a number: the one that was said, or none."""

import pytest

from tests.providers.offline.talk import Talk
from tests.providers.offline.toolset import RICH


@pytest.mark.parametrize(
    "said",
    [
        "set fan to minus twenty",
        "set the fan between 20 and 30 %",
        "set fan 20 or 30 percent",
        "could the fan be twenty thirty percent",
        "pon el ventilador al treinta y",
    ],
)
async def test_a_number_that_was_not_read_whole_is_not_offered(said: str) -> None:
    response = await Talk(RICH).say(said)
    assert not response.tool_calls
    assert "20 %" not in response.text
    assert "30 %" not in response.text


@pytest.mark.parametrize(
    ("said", "offered"),
    [
        ("set the fan to 40 % tomorrow", "40 %"),
        ("my neighbour said set the fan to twenty-one percent", "21 %"),
    ],
)
async def test_the_number_that_was_said_is_offered(said: str, offered: str) -> None:
    assert offered in (await Talk(RICH).say(said)).text
