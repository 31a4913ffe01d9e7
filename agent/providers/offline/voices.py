"""In which language each turn is answered, and the notice that the model cannot be reached."""

from collections.abc import Sequence

from agent.messages import ChatMessage
from agent.providers.offline.conversation import Turn, turns_of
from agent.providers.offline.language import detect
from agent.providers.offline.wording import Voice


def voices_of(turns: Sequence[Turn]) -> list[Voice]:
    """The language of each turn: its own, else that of the turn before."""
    voices: list[Voice] = []
    code = "en"
    for turn in turns:
        code = detect(turn.text, code)
        voices.append(Voice.for_text(code, turn.text))
    return voices


def with_notice(messages: Sequence[ChatMessage], reason: str, text: str) -> str:
    """An answer after the word that, and why, it is not the model's, in the person's language."""
    voice = [Voice("en"), *voices_of(turns_of(messages))][-1]
    return voice.joined([voice.say("unreachable", reason=reason), text])
