import pytest

from agent.channels.command_words import COMMAND_WORDS
from agent.channels.platform import COMMANDS

# Of Discord's descriptions, the shortest that a platform allows
MOST_CHARS = 100


@pytest.mark.parametrize("language", COMMAND_WORDS)
def test_a_language_has_words_of_its_own_for_every_command(language: str) -> None:
    english, words = dict(COMMANDS), COMMAND_WORDS[language]
    assert words.keys() == english.keys()
    assert all(0 < len(text) <= MOST_CHARS for text in words.values())
    assert not set(words.values()) & set(english.values())
