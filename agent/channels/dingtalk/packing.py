"""Files as DingTalk takes them: pictures, documents of a few kinds, and anything else as a ZIP."""

import asyncio
import contextlib
import os
import tempfile
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO

from agent.messages import Attachment

# The platform goes by the end of a name
_PICTURES = {"image/jpeg": "jpg", "image/png": "png", "image/gif": "gif", "image/bmp": "bmp"}
_TAKEN = frozenset({"doc", "docx", "xls", "xlsx", "ppt", "pptx", "zip", "pdf", "rar"})


@contextlib.asynccontextmanager
async def sendable(file: Attachment, folder: Path) -> AsyncIterator[Attachment]:
    """The file itself, or one with it inside that is gone with the block.

    Raises:
        OSError: it cannot be read or packed.
    """
    name = _name(file)
    if ending := _PICTURES.get(file.media_type):
        yield replace(
            file, name=name if _ending(file) in _PICTURES.values() else f"{name}.{ending}"
        )
        return
    if _ending(file) in _TAKEN:
        yield file
        return
    with await asyncio.to_thread(_packed, file, name, folder) as packed:
        # It has no name in the folder: whatever happens, nothing of it stays there
        path = f"/proc/self/fd/{packed.fileno()}"
        size = os.fstat(packed.fileno()).st_size
        yield Attachment(path, "application/zip", f"{name}.zip", size)


def kind_of(file: Attachment) -> str:
    """The platform's word for it."""
    return "image" if file.media_type in _PICTURES else "file"


def template(file: Attachment, media: str) -> tuple[str, dict[str, str]]:
    """The message that shows an uploaded file: a template's name, and what fills it."""
    if kind_of(file) == "image":
        return "sampleImageMsg", {"photoURL": media}
    told = {"mediaId": media, "fileName": _name(file), "fileType": _ending(file)}
    return "sampleFile", told


def _packed(file: Attachment, name: str, folder: Path) -> IO[bytes]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - whoever sends it closes it
    try:
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(file.path, name)
    except BaseException:
        made.close()
        raise
    return made


def _name(file: Attachment) -> str:
    return PurePosixPath(file.name or file.path).name or "file"


def _ending(file: Attachment) -> str:
    return PurePosixPath(_name(file)).suffix.removeprefix(".").lower()
