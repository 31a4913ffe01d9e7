"""Speech to text by a service with OpenAI's `/audio/transcriptions`.

What was said is the person's own words. Where it cannot be had, the sentence says why.
"""

import asyncio
import json

from agent.channels.multipart import MultipartForm
from agent.channels.settings import SpeechSettings
from agent.config import Secret
from agent.errors import NetworkError
from agent.messages import Attachment
from agent.net.http import HttpClient, HttpRequest
from agent.text.printable import printable_text

# A minute of speech takes seconds to read
TRANSCRIBE_TIMEOUT_S = 45.0
# More than a quarter of an hour of speech
MAX_ANSWER_BYTES = 256 * 1024
MAX_TEXT_CHARS = 16_384


class SpeechTranscriber:
    """Client of the service."""

    def __init__(self, settings: SpeechSettings, key: Secret, http: HttpClient) -> None:
        self._settings = settings
        self._key = key
        self._http = http

    async def words(self, speech: Attachment) -> tuple[str, str]:
        """Return the words and an empty text; or an empty text and the reason for the failure."""
        try:
            async with asyncio.timeout(TRANSCRIBE_TIMEOUT_S):
                return await self._ask(speech)
        except TimeoutError:
            return "", f"the speech service took longer than {TRANSCRIBE_TIMEOUT_S:.0f} s"
        except NetworkError as err:
            return "", str(err)
        except OSError as err:
            return "", f"the voice message cannot be read: {err.strerror}"

    async def _ask(self, speech: Attachment) -> tuple[str, str]:
        form = MultipartForm(
            {"model": self._settings.model, "response_format": "json"}, "file", speech
        )
        headers = dict(form.headers)
        if self._key:
            headers["authorization"] = f"Bearer {self._key.reveal()}"
        url = f"{self._settings.base_url.rstrip('/')}/audio/transcriptions"
        request = HttpRequest("POST", url, headers, form.pieces())
        async with self._http.exchange(request, TRANSCRIBE_TIMEOUT_S) as answer:
            content = bytearray()
            while len(content) <= MAX_ANSWER_BYTES and (piece := await answer.read()):
                content += piece
            if answer.status != 200:  # noqa: PLR2004 - what HTTP calls OK
                return "", f"the speech service answered {answer.status}"
        text = _text_of(bytes(content))
        return (text, "") if text else ("", "the speech service heard no words")


def _text_of(content: bytes) -> str:
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    text = told.get("text") if isinstance(told, dict) else None
    return printable_text(text, MAX_TEXT_CHARS).strip() if isinstance(text, str) else ""
