"""Text and files on their way to a chat, with Signal's styles, as one `send` of the daemon."""

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from agent.channels.signal import failures
from agent.channels.signal.daemon import Daemon
from agent.errors import MessageRefused
from agent.messages import Attachment

# A longer text would travel as a file beside the message
MAX_TEXT_BYTES = 2000
# Held in memory three times over while it goes, on a small device
MAX_FILE_BYTES = 10 * 1024 * 1024
# A large file over a slow line; the daemon answers when Signal has all of it
UPLOAD_TIMEOUT_S = 180.0


class Letters:
    """Sends."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    async def put(self, parameters: Mapping[str, object], markdown: str) -> int:
        """The time that the message is known by from now on, 0 where the daemon does not say.

        Raises:
            ChannelError: nobody has it.
        """
        from agent.channels.render import to_styles  # noqa: PLC0415 - no start needs it

        text, styles = to_styles(markdown)
        styled = {"textStyle": [f"{start}:{length}:{name}" for start, length, name in styles]}
        body = {**parameters, "message": text, **(styled if styles else {})}
        return _timestamp_of(await self._daemon.call("send", body))

    async def give(self, parameters: Mapping[str, object], file: Attachment) -> int:
        """The same of a file.

        Raises:
            OSError: it cannot be read.
        """
        uri = await asyncio.to_thread(_data_uri, file)
        body = {**parameters, "attachments": [uri]}
        return _timestamp_of(await self._daemon.call("send", body, UPLOAD_TIMEOUT_S))


def parts(markdown: str) -> tuple[str, ...]:
    """The text in pieces of which each is one message."""
    from agent.channels.render import split, utf8_bytes  # noqa: PLC0415 - no start needs them

    return split(markdown, MAX_TEXT_BYTES, utf8_bytes)


def first_part(markdown: str) -> str:
    """As much of a text that still grows as one message shows."""
    # Marks of Markdown are not counted; twice as much is more than enough
    return parts(markdown[: 2 * MAX_TEXT_BYTES])[0]


def _data_uri(file: Attachment) -> str:
    """The daemon may run as somebody who cannot read our files: it is handed the content."""
    path = Path(file.path)
    with path.open("rb") as opened:
        content = opened.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise MessageRefused("a file became larger while it was sent")
    name = quote(file.name or path.name, safe="")
    kind = file.media_type if "/" in file.media_type else "application/octet-stream"
    encoded = base64.b64encode(content).decode("ascii")
    return f"data:{kind.partition(';')[0]};filename={name};base64,{encoded}"


def _timestamp_of(result: object) -> int:
    if not failures.is_sent(result):
        raise failures.unsent_of(result)
    timestamp = result.get("timestamp") if isinstance(result, dict) else None
    return timestamp if isinstance(timestamp, int) else 0
