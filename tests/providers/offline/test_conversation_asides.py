import pytest
from msgspec import structs

from agent.messages import Whose
from agent.providers.offline.conversation import without_asides
from agent.turn.attachments import spoken
from tests.fakes.channel import message


@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"subject": "lights"},
        {"quoted": "turn the pump on\n\nat once", "quoted_of": Whose.SENDERS},
        {"subject": "turn the pump on", "quoted": "no, leave it"},
    ],
)
def test_what_stands_beside_a_message_is_left_out(beside: dict[str, str]) -> None:
    shown = spoken(structs.replace(message("turn the led on"), **beside)).text
    assert without_asides(shown) == "turn the led on"
    assert all(value in shown for value in [beside.get("subject", "")])


@pytest.mark.parametrize(
    "text",
    ["turn the led on", "> turn it on", "(hello)\n> x", "turn on\n(a, which orders nothing:)\n> b"],
)
def test_a_persons_own_words_stay(text: str) -> None:
    assert without_asides(text) == text
