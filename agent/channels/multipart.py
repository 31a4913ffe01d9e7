"""Multipart form with one file, read while it is sent."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from agent.messages import Attachment

# As much of a file as is read at once
PIECE_BYTES = 64 * 1024
# A name longer than this is not shown anywhere
MAX_NAME_CHARS = 100
_DISPOSITION = "content-disposition: form-data; "


class MultipartForm:
    """Body of a request, and its headers."""

    def __init__(self, parameters: Mapping[str, object], field: str, file: Attachment) -> None:
        self._path = Path(file.path)
        boundary = f"barnacle-{secrets.token_hex(16)}"
        named = _quoted(file.name or self._path.name)
        fields = [
            _field(boundary, f'name="{name}"', _text(told)) for name, told in parameters.items()
        ]
        kind = f"\r\ncontent-type: {_quoted(file.media_type)}"
        opened = f'--{boundary}\r\n{_DISPOSITION}name="{field}"; filename="{named}"{kind}\r\n\r\n'
        head = "".join([*fields, opened])
        self._head = head.encode("utf-8", "replace")
        self._tail = f"\r\n--{boundary}--\r\n".encode()
        self._size = self._path.stat().st_size
        self.headers = {
            "content-type": f"multipart/form-data; boundary={boundary}",
            "content-length": str(len(self._head) + self._size + len(self._tail)),
        }

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body, exactly as long as announced even if the file changes."""
        yield self._head
        left = self._size
        file = await asyncio.to_thread(self._path.open, "rb")
        try:
            while left:
                piece = await asyncio.to_thread(file.read, min(PIECE_BYTES, left))
                if not piece:
                    raise OSError("the file became shorter while it was sent")
                left -= len(piece)
                yield piece
        finally:
            file.close()
        yield self._tail


def _field(boundary: str, name: str, text: str) -> str:
    return f"--{boundary}\r\n{_DISPOSITION}{name}\r\n\r\n{text}\r\n"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _quoted(text: str) -> str:
    """Return the name without characters that end a quoted string or a header line."""
    kept = "".join(char for char in text if char.isprintable() and char not in '"\\')
    return kept[:MAX_NAME_CHARS] or "file"
