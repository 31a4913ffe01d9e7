"""Seams of speech: a recogniser writes down what was said, a speaker says a text.

Neither decides anything: the words are the sender's, with the trust of the sender.
"""

import asyncio
import re
from collections.abc import Awaitable
from typing import Protocol

from msgspec import Struct

from agent.channels.render.plain import to_plain
from agent.errors import NetworkError, SandboxBroken, SpeechUnavailable
from agent.messages import Attachment
from agent.text.printable import printable_text

# A minute of speech takes seconds to read
TRANSCRIBE_TIMEOUT_S = 45.0
# A short answer takes a fraction of it; its text has arrived, so that nobody waits for this
SPEAK_TIMEOUT_S = 60.0
# A quarter of an hour of speech
MAX_TEXT_CHARS = 16_384
# Of what a speaker gives: a minute at the highest rate, and ten times that of a short answer
MAX_SOUND_BYTES = 6 * 1024 * 1024
OGG, WAV, AAC = "audio/ogg", "audio/wav", "audio/aac"
# Half a minute of speech; nobody listens to more
MAX_SPOKEN_CHARS = 500
NO_WORDS = "the speech service heard no words"
_CODE = re.compile(r"^ {0,3}(```|~~~)", re.MULTILINE)
_LINK = re.compile(r"\S*https?://\S+")


class Sound(Struct, frozen=True):
    """Recorded or spoken sound, a whole file."""

    content: bytes
    media_type: str


class Recogniser(Protocol):
    """Engine that writes down what was said."""

    async def words(self, speech: Attachment) -> tuple[str, str]:
        """Return the words and an empty text; or an empty text and the reason for the failure."""

    async def probe(self) -> str:
        """Return how the engine is, in a sentence.

        Raises:
            SpeechUnavailable: it cannot be used.
        """


class Speaker(Protocol):
    """Engine that speaks."""

    async def say(self, text: str) -> Sound:
        """Return the spoken text.

        Raises:
            SpeechUnavailable: it is not spoken.
        """

    async def probe(self) -> str:
        """Return how the engine is, in a sentence; raises as a recogniser's does."""


async def words_or_reason(hearing: Awaitable[str]) -> tuple[str, str]:
    """Return the words, or the reason why there are none; what was heard is cleaned here."""
    try:
        async with asyncio.timeout(TRANSCRIBE_TIMEOUT_S):
            text = printable_text(await hearing, MAX_TEXT_CHARS).strip()
    except TimeoutError:
        return "", f"the speech service took longer than {TRANSCRIBE_TIMEOUT_S:.0f} s"
    except (NetworkError, SpeechUnavailable, SandboxBroken) as err:
        return "", str(err)
    except OSError as err:
        return "", f"the voice message cannot be read: {err.strerror}"
    return (text, "") if text else ("", NO_WORDS)


async def spoken_in_time(speaking: Awaitable[Sound]) -> Sound:
    """Return what an engine says, or raise SpeechUnavailable with the reason."""
    try:
        async with asyncio.timeout(SPEAK_TIMEOUT_S):
            sound = await speaking
    except TimeoutError as err:
        raise SpeechUnavailable(f"nothing was spoken within {SPEAK_TIMEOUT_S:.0f} s") from err
    except (NetworkError, SandboxBroken) as err:
        raise SpeechUnavailable(str(err)) from err
    if not sound.content:
        raise SpeechUnavailable("the speaker gave no sound")
    return sound


def spoken_text(markdown: str) -> str:
    """Return an answer as it is said; empty if it is too long for that, or is for the eyes."""
    if _CODE.search(markdown):
        return ""
    plain = " ".join(_LINK.sub("", to_plain(markdown)).split())
    return plain if len(plain) <= MAX_SPOKEN_CHARS else ""
