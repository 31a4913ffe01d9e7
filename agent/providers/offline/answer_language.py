"""Language of each answer, and the notice that the model cannot be reached."""

from collections.abc import Sequence

from agent.messages import ChatMessage
from agent.providers.offline.conversation import ConversationTurn, turns_of
from agent.providers.offline.language import detect
from agent.providers.offline.voice import Voice


def voices_of(turns: Sequence[ConversationTurn]) -> list[Voice]:
    """Return the language of each turn: its own, else that of the turn before."""
    voices: list[Voice] = []
    code = "en"
    for turn in turns:
        code = detect(turn.text, code)
        voices.append(Voice.for_text(code, turn.text))
    return voices


def with_notice(messages: Sequence[ChatMessage], reason: str, text: str) -> str:
    """Return an answer behind the notice that the model cannot be reached, and why."""
    voice = [Voice("en"), *voices_of(turns_of(messages))][-1]
    return voice.joined([voice.say("unreachable", reason=reason), text])
