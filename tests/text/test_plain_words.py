import pytest

from agent.text.plain_words import plain_answer


@pytest.mark.parametrize("text", ["yes", " YES. ", "ok", "Okay!", "好", "好的。", "ja", "Sí", "👍"])
def test_a_word_by_itself_is_a_yes(text: str) -> None:
    assert plain_answer(text) is True


@pytest.mark.parametrize("text", ["no", "Nein.", "不要", "нет", "don’t", "いいえ"])
def test_a_word_by_itself_is_a_no(text: str) -> None:
    assert plain_answer(text) is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yes but not now",
        "is it ok?",
        "yes no",
        "stop",
        "好不好",
        "always",
        "ok" * 40,
        "yes ab3d",
    ],
)
def test_what_says_more_is_neither(text: str) -> None:
    assert plain_answer(text) is None
