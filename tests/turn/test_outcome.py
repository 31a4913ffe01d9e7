import pytest

from agent.turn.outcome import NOTHING_TO_SAY, says_nothing


@pytest.mark.parametrize(
    "text",
    [
        NOTHING_TO_SAY,
        "**HEARTBEAT_OK**",
        "`HEARTBEAT_OK`.",
        "heartbeat ok",
        "[SILENT]",
        "NO_REPLY",
        "",
    ],
)
def test_a_sign_alone_says_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "HEARTBEAT_OK, but the soil is dry",
        "The soil is dry.\nHEARTBEAT_OK",
        "OK, the pump is on",
        "好",
        "I got no answer from the language model: 503",
    ],
)
def test_a_word_of_news_beside_it_is_told(text: str) -> None:
    assert not says_nothing(text)
