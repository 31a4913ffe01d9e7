"""Composition of the agent's voice: what is said, by which engine, and where the sound is kept."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Mapping

from agent.channels.received_files import MAX_FILE_BYTES, ReceivedFiles
from agent.channels.speech.base import Sound, Speaker, spoken_text
from agent.channels.speech.engines import SpeechParts, open_programs, open_speaker
from agent.channels.speech.programs import SoundPrograms
from agent.channels.speech_settings import SpeechSettings
from agent.errors import BarnacleError
from agent.messages import Attachment
from agent.messaging.voice_answers import Speak
from agent.net.http import HttpClient
from agent.settings import Paths

_log = logging.getLogger(__name__)

_NAME = "answer"
_FOLDER = "spoken"
# A file of the largest size and what waits for a channel that is away
_MAX_FOLDER_BYTES = 2 * MAX_FILE_BYTES


def open_voice(
    wanted: SpeechSettings | None,
    paths: Paths,
    http: HttpClient,
    environ: Mapping[str, str] = os.environ,
) -> Speak | None:
    """Return what speaks the answers to voice messages; None where nobody wants that.

    Raises:
        ConfigRefused: its key cannot be read.
    """
    if wanted is None or wanted.voice == "off":
        return None
    parts = SpeechParts(environ, http, paths.workspace)
    speaker = open_speaker(wanted, parts)
    if speaker is None:
        return None
    folder = ReceivedFiles(paths.state_dir / _FOLDER, _MAX_FOLDER_BYTES)
    return AnswerVoice(speaker, open_programs(parts), folder)


class AnswerVoice:
    """Speaks one answer at a time: a small machine has no memory for two."""

    def __init__(self, speaker: Speaker, programs: SoundPrograms, folder: ReceivedFiles) -> None:
        self._speaker = speaker
        self._programs = programs
        self._folder = folder
        self._line = asyncio.Lock()

    async def __call__(self, text: str, media_type: str) -> Attachment | None:
        said = await asyncio.to_thread(spoken_text, text)
        if not said:
            return None
        try:
            async with self._line:
                sound = await self._speaker.say(said)
                voice = await self._programs.as_voice(sound, media_type)
        except BarnacleError as err:
            _log.warning("voice: answer not spoken (error=%s)", err)
            return None
        kept = await self._folder.keep(_pieces(voice), voice.media_type, _NAME)
        if isinstance(kept, str):
            _log.warning("voice: spoken answer not kept (error=%s)", kept)
            return None
        return Attachment(kept.path, kept.media_type, kept.name, kept.size_bytes, is_voice=True)


async def _pieces(sound: Sound) -> AsyncGenerator[bytes, None]:
    yield sound.content
