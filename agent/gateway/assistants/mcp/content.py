"""Files that a call made for its caller, as content of the protocol.

A picture and a sound are shown as such; anything else is enclosed as a resource.
"""

import asyncio
import base64
import mimetypes
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from agent.errors import PathRefused
from agent.messages import ToolResult
from agent.security.paths import open_beneath

# A chart has some 50 KB; as text in a message a file takes several times its size of memory
MAX_FILE_BYTES = 4 * 1024 * 1024
JSON = "application/json"
_UNKNOWN = "application/octet-stream"
# As clients name what the system has an older name for
_NAMED = {"audio/x-wav": "audio/wav"}
_URI = "barnacle://files/"


class MadeFile(Struct, frozen=True):
    """File that a call made.

    Args:
        text: of a file of words, without keys, whatever its name says; None of any other.
        refused: why it does not go; empty if it goes.
    """

    path: str
    media: str = _UNKNOWN
    content: bytes = b""
    text: str | None = None
    refused: str = ""

    def block(self) -> dict[str, object]:
        """Return it as a part of a call's result."""
        if self.refused:
            return {"type": "text", "text": f"({self.path} is not sent: {self.refused})"}
        kind = self.media.partition("/")[0]
        if kind in {"image", "audio"} and self.text is None:
            return {"type": kind, "data": self._base64, "mimeType": self.media}
        return {"type": "resource", "resource": self.contents(f"{_URI}{self.path}")}

    def contents(self, uri: str) -> dict[str, object]:
        """Return it as the contents of a resource."""
        told: dict[str, object] = {"uri": uri, "mimeType": self.media}
        return told | ({"blob": self._base64} if self.text is None else {"text": self.text})

    @property
    def _base64(self) -> str:
        return base64.b64encode(self.content).decode()


class MadeFiles:
    """Reads what calls made from the workspace.

    Args:
        redact: takes keys out of a text.
    """

    def __init__(self, workspace: Path, redact: Callable[[str], str]) -> None:
        self._workspace = workspace
        self._redact = redact

    async def of(self, result: ToolResult) -> tuple[MadeFile, ...]:
        """Return the files of a result."""
        return tuple([await asyncio.to_thread(self._read, path) for path in result.files])

    def _read(self, path: str) -> MadeFile:
        try:
            with open_beneath(self._workspace, path) as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (PathRefused, OSError) as err:
            return MadeFile(path, refused=str(err))
        if len(content) > MAX_FILE_BYTES:
            return MadeFile(path, refused=f"it is larger than {MAX_FILE_BYTES // 1024 // 1024} MB")
        guessed = mimetypes.guess_type(path)[0] or _UNKNOWN
        return MadeFile(path, _NAMED.get(guessed, guessed), content, self._text(content))

    def _text(self, content: bytes) -> str | None:
        try:
            return self._redact(content.decode())
        except UnicodeDecodeError:
            return None
