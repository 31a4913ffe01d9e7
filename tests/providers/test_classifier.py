import pytest

from agent.providers.classifier import Classifier
from agent.providers.section import ClassifySettings
from tests.fakes.said import system_said, user_said

RULES = {
    "code": ClassifySettings(keywords=("python", "C++", "Fehler im", "代码")),
    "fast": ClassifySettings(max_chars=10),
    "deep": ClassifySettings(keywords=("why",), min_chars=40),
}


def sorted_to(text: str) -> str | None:
    return Classifier(RULES).hint((system_said("python"), user_said(text)))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("some Python, please, would be nice", "code"),
        ("a C++ question of moderate length", "code"),
        ("da ist ein fehler im Ablauf der Pumpe", "code"),
        ("请你帮我看一下这段代码有什么问题好吗", "code"),
        ("hi", "fast"),
        ("hi why", "fast"),
        ("tell me why the pump stops whenever it gets dark", "deep"),
        ("but whyever would it do so at night of all times?", None),
        ("pythons are snakes and no language at all", None),
        ("why is it so late?", None),
    ],
)
def test_the_first_rule_that_fits_decides(text: str, hint: str | None) -> None:
    assert sorted_to(text) == hint


def test_without_rules_or_words_of_a_person_nothing_is_sorted() -> None:
    assert Classifier({}).hint((user_said("python"),)) is None
    assert Classifier(RULES).hint((system_said("python"),)) is None


def test_only_the_last_thing_that_was_said_counts() -> None:
    messages = (user_said("python and more of it"), user_said("something else now"))
    assert Classifier(RULES).hint(messages) is None
