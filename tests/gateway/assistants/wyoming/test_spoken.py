import pytest

from agent.gateway.assistants.wyoming.spoken import SpokenText


def said(*pieces: str) -> tuple[list[str], str]:
    spoken = SpokenText()
    told = [*map(spoken.grow, pieces), spoken.end()]
    assert "".join(told) == spoken.whole
    return [one for one in told if one], spoken.whole


@pytest.mark.parametrize(
    ("pieces", "told"),
    [
        (("It is", " warm. It ", "rains."), ["It is warm.", " It rains."]),
        (("First.\nSec", "ond."), ["First.", "\nSecond."]),
        (("温度は二十度です。暖かい", "です。"), ["温度は二十度です。", "暖かいです。"]),
        # A mark that is open is not cut
        (("It is **very. wa", "rm** now. So"), ["It is very. warm now. So"]),
        (("It is `a. b`\nand", " c"), ["It is a. b", "\nand c"]),
        (("Look:\n```\na. b\nc\n", "```\nDone. "), ["Look:", "\na. b\nc", "\nDone."]),
        (("", "\n\n", " "), []),
        (("3.14 is pi.",), ["3.14 is pi."]),
    ],
)
def test_sentences_are_said_as_they_end_without_marks(
    pieces: tuple[str, ...], told: list[str]
) -> None:
    assert said(*pieces)[0] == told
