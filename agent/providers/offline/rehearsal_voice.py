"""Sentences of a rehearsal in a person's language."""

from collections.abc import Sequence
from typing import Any

from agent.providers.offline.lexicon import LANGUAGES, lexicon
from agent.providers.offline.voice import Voice

_FEW = {0: "never", 1: "once", 2: "twice"}


class SpokenRehearsal:
    """See `agent.tools.rehearsal_words.RehearsalVoice`; a language not known is English."""

    def __init__(self, code: str) -> None:
        self._voice = Voice(code if code in LANGUAGES else "en")
        self._said: dict[str, Any] = lexicon(self._voice.code).wording["rehearsal"]

    def say(self, key: str, **slots: str) -> str:
        capitals = {name.capitalize(): one[:1].upper() + one[1:] for name, one in slots.items()}
        told: str = self._said[key].format_map({**capitals, **slots})
        return told

    def times(self, count: int) -> str:
        return self.say(_FEW.get(count, "times"), count=str(count))

    def span(self, seconds: float) -> str:
        return self._voice.span(seconds)

    def thing(self, name: str) -> str:
        return self._voice.thing(name)

    def value(self, value: object, thing: str = "") -> str:
        return self._voice.value(value, thing)

    def joined(self, sentences: Sequence[str]) -> str:
        return self._voice.joined(sentences)
