"""Message writer: text with styles, and files, as one `send` of the daemon."""

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from agent.channels.signal import errors
from agent.channels.signal.client import SignalClient
from agent.errors import MessageRefused
from agent.messages import Attachment

# A longer text would travel as a file beside the message
MAX_TEXT_BYTES = 2000
# Held in memory three times over while it goes, on a small device
MAX_FILE_BYTES = 10 * 1024 * 1024
# A large file over a slow line; the daemon answers when Signal has all of it
UPLOAD_TIMEOUT_S = 180.0


class SignalWriter:
    """Message writer of one account."""

    def __init__(self, daemon: SignalClient) -> None:
        self._daemon = daemon

    async def put(self, parameters: Mapping[str, object], markdown: str) -> int:
        """Send a text; return its time, which is its id, or 0 if the daemon does not say.

        Raises:
            ChannelError: nobody has it.
        """
        from agent.channels.render.plain import to_styles  # noqa: PLC0415 - no start needs it

        text, styles = to_styles(markdown)
        styled = {"textStyle": [f"{start}:{length}:{name}" for start, length, name in styles]}
        body = {**parameters, "message": text, **(styled if styles else {})}
        return _timestamp_of(await self._daemon.call("send", body))

    async def give(self, parameters: Mapping[str, object], file: Attachment) -> int:
        """Send a file; return its time.

        Raises:
            OSError: it cannot be read.
        """
        uri = await asyncio.to_thread(_data_uri, file)
        # Before 0.14.2 the daemon does not know it, and sends a file that plays as well
        noted = {"voiceNote": True} if file.is_voice else {}
        body = {**parameters, "attachments": [uri], **noted}
        return _timestamp_of(await self._daemon.call("send", body, UPLOAD_TIMEOUT_S))


def parts(markdown: str) -> tuple[str, ...]:
    """Split the text into messages."""
    from agent.channels.render.splitter import split  # noqa: PLC0415 - no start needs them
    from agent.channels.render.styled import utf8_bytes  # noqa: PLC0415 - as above

    return split(markdown, MAX_TEXT_BYTES, utf8_bytes)


def first_part(markdown: str) -> str:
    """Return as much of a draft as one message shows."""
    # Marks of Markdown are not counted; twice as much is more than enough
    return parts(markdown[: 2 * MAX_TEXT_BYTES])[0]


def _data_uri(file: Attachment) -> str:
    """Return the file as a data URI: the daemon may not be able to read our files."""
    path = Path(file.path)
    with path.open("rb") as opened:
        content = opened.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise MessageRefused("the file became larger while it was sent")
    name = quote(file.name or path.name, safe="")
    kind = file.media_type if "/" in file.media_type else "application/octet-stream"
    encoded = base64.b64encode(content).decode("ascii")
    return f"data:{kind.partition(';')[0]};filename={name};base64,{encoded}"


def _timestamp_of(result: object) -> int:
    if not errors.is_sent(result):
        raise errors.unsent_of(result)
    timestamp = result.get("timestamp") if isinstance(result, dict) else None
    return timestamp if isinstance(timestamp, int) else 0
