"""Hint for a message, from its words and its length."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from agent.messages import ChatMessage
from agent.providers.section import ClassifySettings


class _Rule(Struct, frozen=True):
    """Messages of one route; a pattern of None accepts any words."""

    hint: str
    words: re.Pattern[str] | None
    min_chars: int
    max_chars: int

    def takes(self, text: str) -> bool:
        if not self.min_chars <= len(text) <= self.max_chars:
            return False
        return self.words is None or self.words.search(text) is not None


class Classifier:
    """Sorts messages by the first rule that fits, in the order of the configuration."""

    def __init__(self, rules: Mapping[str, ClassifySettings]) -> None:
        self._rules = [
            _Rule(hint, _pattern(rule.keywords), rule.min_chars, rule.max_chars)
            for hint, rule in rules.items()
        ]

    def hint(self, messages: Sequence[ChatMessage]) -> str | None:
        """Return the hint for the person's last message, so that a turn stays with one model."""
        text = next((m.text for m in reversed(messages) if m.begins_turn), None)
        if text is None:
            return None
        return next((rule.hint for rule in self._rules if rule.takes(text)), None)


def _pattern(keywords: Sequence[str]) -> re.Pattern[str] | None:
    if not keywords:
        return None
    return re.compile("|".join(_whole(word) for word in keywords), re.IGNORECASE)


def _whole(word: str) -> str:
    """Match whole words in scripts with spaces."""
    begin = r"(?<![^\W_])" if _is_spaced(word[0]) else ""
    end = r"(?![^\W_])" if _is_spaced(word[-1]) else ""
    return f"{begin}{re.escape(word)}{end}"


def _is_spaced(letter: str) -> bool:
    # From Latin to Cyrillic and Greek; Chinese, Japanese and Thai have no spaces between words
    return letter.isalnum() and letter < "\u0590"
