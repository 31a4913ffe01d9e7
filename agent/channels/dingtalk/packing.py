"""Files as DingTalk takes them: pictures, documents of a few kinds, and anything else as a ZIP."""

import asyncio
import contextlib
import tempfile
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from agent.messages import Attachment

_PICTURES = frozenset({"image/jpeg", "image/png", "image/gif", "image/bmp"})
# By the end of a name; the platform refuses others
_TAKEN = frozenset({"doc", "docx", "xls", "xlsx", "ppt", "pptx", "zip", "pdf", "rar"})
_ZIP = "zip"


@contextlib.asynccontextmanager
async def sendable(file: Attachment, folder: Path) -> AsyncIterator[Attachment]:
    """The file itself, or one with it inside that is gone with the block.

    Raises:
        OSError: it cannot be read or packed.
    """
    if kind_of(file) == "image" or _ending(file) in _TAKEN:
        yield file
        return
    name = _name(file)
    packed = await asyncio.to_thread(_packed, file, name, folder)
    try:
        size = packed.stat().st_size
        yield replace(
            file,
            path=str(packed),
            media_type="application/zip",
            name=f"{name}.zip",
            size_bytes=size,
        )
    finally:
        packed.unlink(missing_ok=True)


def kind_of(file: Attachment) -> str:
    """The platform's word for it."""
    return "image" if file.media_type in _PICTURES else "file"


def template(file: Attachment, media: str) -> tuple[str, dict[str, str]]:
    """The message that shows an uploaded file: a template's name, and what fills it."""
    if kind_of(file) == "image":
        return "sampleImageMsg", {"photoURL": media}
    told = {"mediaId": media, "fileName": _name(file), "fileType": _ending(file)}
    return "sampleFile", told


def _packed(file: Attachment, name: str, folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=f".{_ZIP}", delete=False) as made:
        path = Path(made.name)
        try:
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.write(file.path, name)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return path


def _name(file: Attachment) -> str:
    return PurePosixPath(file.name or file.path).name or "file"


def _ending(file: Attachment) -> str:
    return PurePosixPath(_name(file)).suffix.removeprefix(".").lower()
