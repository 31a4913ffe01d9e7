import pytest

from agent.memory.grounding import is_grounded, is_negated

SAID = ["My sister is called Mei and she lives in Bergen", "never leave the pump on at night"]


@pytest.mark.parametrize(
    "fact",
    ["The owner's sister is called Mei", "Mei lives in Bergen", "never leave on the pump at night"],
)
def test_a_fact_in_the_persons_words_is_grounded(fact: str) -> None:
    assert is_grounded(fact, SAID)


@pytest.mark.parametrize(
    "fact",
    [
        "Mei lives in Oslo",
        "Mei leaves the pump on",
        "Leave the pump on at night",
        "The front door code is 4711",
        "",
        "The owner is called",
    ],
)
def test_another_word_or_a_lost_denial_is_not(fact: str) -> None:
    assert not is_grounded(fact, SAID)


@pytest.mark.parametrize(
    "asked",
    [
        "may the pump run without a question?",
        "Good morning. May the pump run without a question? Thanks.",
        "ポンプは質問なしで動いていい？",
    ],
)
def test_what_was_only_asked_is_not(asked: str) -> None:
    for fact in ("the pump may run without a question", "ポンプは質問なしで動いていい"):
        assert not is_grounded(fact, [asked])


def test_what_is_said_beside_a_question_is() -> None:
    assert is_grounded("the pump may run at night", ["how are you? the pump may run at night"])


@pytest.mark.parametrize(
    "text", ["I don't eat fish", "ich esse nie Fisch", "no como carne", "我不吃肉"]
)
def test_denials_are_known(text: str) -> None:
    assert is_negated(text)
