import pytest

from agent.text.typed import as_typed


@pytest.mark.parametrize("text", ["／estop", "／ｅｓｔｏｐ", " ／ＥＳＴＯＰ　"])
def test_a_wide_command_is_the_command(text: str) -> None:
    assert as_typed(text).strip().lower() == "/estop"


@pytest.mark.parametrize("text", ["", "ＡＢＣ ½", "either／or", "/plot ½"])
def test_other_words_stay_as_they_are(text: str) -> None:
    assert as_typed(text) == text
