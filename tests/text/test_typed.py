import pytest

from agent.text.typed import as_typed, begins_with_stop, is_stop


@pytest.mark.parametrize("text", ["／estop", "／ｅｓｔｏｐ", " ／ＥＳＴＯＰ　"])
def test_a_wide_command_is_the_command(text: str) -> None:
    assert as_typed(text).strip().lower() == "/estop"


@pytest.mark.parametrize("text", ["", "ＡＢＣ ½", "either／or", "/plot ½"])
def test_other_words_stay_as_they_are(text: str) -> None:
    assert as_typed(text) == text


@pytest.mark.parametrize(
    "words",
    [
        *("please", "NOW!", "please, right now", "immediately", "pls asap", "thank you", "🙏"),
        *("bitte", "bitte sofort!", "jetzt bitte", "por favor", "¡ahora mismo!", "s’il te plaît"),
        *("s'il vous plaît, tout de suite", "per favore", "subito", "agora", "alsjeblieft nu"),
        *("请", "马上", "请立刻", "お願いします", "今すぐお願いします", "제발", "지금 당장"),
        *("пожалуйста", "сейчас же!", "будь ласка", "proszę", "prosím hned", "kérlek", "lütfen"),
    ],
)
def test_what_only_asks_for_haste_belongs_to_the_stop(words: str) -> None:
    assert is_stop(f"/stop {words}")
    assert is_stop(f" ／ＳＴＯＰ　{words}")


@pytest.mark.parametrize(
    "text",
    [
        *("/stop the pump", "/stop everything", "/stop it", "/stop alles", "/stop at 6 please"),
        *("/stop please turn on the lamp", "/stop 泵", "/stop " + "now " * 50),
    ],
)
def test_what_says_more_is_a_message_that_stops(text: str) -> None:
    assert not is_stop(text)
    assert begins_with_stop(text)


@pytest.mark.parametrize("text", ["/stopp", "/stopwatch on", "please /stop", "stop", "", "/st op"])
def test_other_words_are_no_stop(text: str) -> None:
    assert not is_stop(text)
    assert not begins_with_stop(text)
