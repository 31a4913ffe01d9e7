import pytest

from agent.tools.search import words_for


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("Luftfeuchtigkeit messen", "humidity"),
        ("avísame cuando cambie", "watch"),
        ("溫度 温度", "temperature"),
        ("湿度が高い", "humidity"),
        ("기억을 잊어", "forget"),
        ("notify me", "watch"),
    ],
)
def test_a_word_of_any_language_adds_the_words_of_our_tools(query: str, word: str) -> None:
    assert word in words_for(query)


def test_what_means_none_of_our_tools_adds_nothing() -> None:
    assert list(words_for("xyzzy")) == []
