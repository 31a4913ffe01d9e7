"""Files of incoming messages, fetched before the message is delivered.

What cannot be had is said in the message: nothing that a person sent disappears in silence. How a
platform hands out a file is the platform's.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import ChannelError
from agent.messages import Attachment, Inbound

if TYPE_CHECKING:
    from agent.channels.speech.base import Recogniser

NOT_HEARD = (
    "I cannot listen to voice messages: no speech service is configured ([channels.speech]). "
    "Please write it."
)


def unfetched(inbound: Inbound, names: Iterable[str]) -> Inbound:
    """Return the message of somebody whose files are not kept, with a note for each."""
    notes = [f"I did not fetch {name}: only of people with access I keep files." for name in names]
    return replace(inbound, notes=(*inbound.notes, *notes))


class IncomingFile(Struct, frozen=True):
    """File that the platform holds.

    Args:
        what: what a person would call it.
        fetch: the file, or why it cannot be had.
        is_speech: true for a voice message, whose words are the sender's own; None where people do
            record some and the platform does not tell them from other sound: then all sound is.
    """

    what: str
    fetch: Callable[[], Awaitable[Attachment | str]]
    is_speech: bool | None = None

    def is_heard(self, kept: Attachment) -> bool:
        """Return true for what is to be written down."""
        if self.is_speech is None:
            return kept.media_type.startswith("audio/")
        return self.is_speech


class IncomingFiles:
    """Fetcher of files for messages.

    Args:
        recogniser: writes down voice messages; None where no service is configured.
        beat: says that the platform was heard.
        limit_s: for all files of a message; nothing else is heard meanwhile.
    """

    def __init__(
        self, recogniser: "Recogniser | None", beat: Callable[[], None], limit_s: float
    ) -> None:
        self._recogniser = recogniser
        self._beat = beat
        self._limit_s = limit_s

    async def added_to(self, inbound: Inbound, files: Iterable[IncomingFile]) -> Inbound:
        """Return the message with its files, and a note for each that failed."""
        kept: list[Attachment] = []
        lines, notes, is_spoken = [inbound.text], [*inbound.notes], inbound.is_spoken
        deadline_s = asyncio.get_running_loop().time() + self._limit_s
        for file in files:
            attachment = await _fetched(file, deadline_s)
            if isinstance(attachment, str):
                notes.append(f"I could not fetch {file.what}: {attachment}.")
                continue
            if file.is_heard(attachment):
                # What was said counts as the sender's; what a file calls itself does not
                attachment = replace(attachment, name="")
                text, note = await self._said(attachment)
                lines.append(text)
                is_spoken = is_spoken or bool(text)
                notes += [note] if note else []
            kept.append(attachment)
        text = "\n".join(line for line in lines if line)
        return replace(
            inbound,
            text=text,
            attachments=tuple(kept),
            notes=tuple(notes),
            is_spoken=is_spoken,
        )

    async def _said(self, speech: Attachment) -> tuple[str, str]:
        """Return the words of a voice message; or none, and a note for the person."""
        if self._recogniser is None:
            return "", NOT_HEARD
        text, trouble = await self._recogniser.words(speech)
        self._beat()
        return text, "" if text else f"I could not write down your voice message: {trouble}."


async def _fetched(file: IncomingFile, deadline_s: float) -> Attachment | str:
    try:
        async with asyncio.timeout_at(deadline_s):
            return await file.fetch()
    except TimeoutError:
        return "it did not come in time"
    except ChannelError as err:
        return str(err)
