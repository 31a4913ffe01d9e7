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
    "text", ["I don't eat fish", "ich esse nie Fisch", "no como carne", "我不吃肉"]
)
def test_denials_are_known(text: str) -> None:
    assert is_negated(text)
