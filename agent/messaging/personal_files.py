"""Files of messages, moved from the channels' folder into their sender's part of the workspace.

A file gets the name that its sender gave it, as far as that is a plain name. What was sent again is
not kept twice. Each person's folder is bounded; the oldest files go first.
"""

import filecmp
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from agent.messages import Attachment, Inbound
from agent.security.received import RECEIVED, folder_of_group, folder_of_person
from agent.storage.files import sync_folder
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

# Of one person or group: as much as the folder of all channels together may hold
MAX_FOLDER_BYTES = 256 * 1024 * 1024
MAX_FILES = 1000
MAX_NAME_CHARS = 80
# Of a list that somebody reads
MAX_LISTED = 30
_MAX_SUFFIX_CHARS = 10
_KB = 1000
# What shells, Windows and our own markers read in another way
_UNFIT = re.compile(r'[\\/:*?"<>|\[\]\x00-\x1f]+')
# What a file without a name is called
_CALLED = {"image": "picture", "audio": "voice", "video": "video"}


class PersonalFiles:
    """Everybody's received files.

    Args:
        max_folder_bytes: of one person; smaller in tests.
    """

    def __init__(self, workspace: Path, max_folder_bytes: int = MAX_FOLDER_BYTES) -> None:
        self._workspace = workspace
        self._max_folder_bytes = max_folder_bytes

    def take_over(self, message: Inbound) -> Inbound:
        """Return the message with its files in their place; works on the disk.

        A file that cannot be moved stays where the channel put it.
        """
        if all(file.place for file in message.attachments):
            return message
        folder = self._folder_of(message)
        moved = tuple(self._moved(file, folder) for file in message.attachments)
        return replace(message, attachments=moved)

    def listing(self, message: Inbound) -> str:
        """Return the files of whoever wrote the message, the newest first; reads the disk."""
        folder = self._folder_of(message)
        try:
            with os.scandir(folder) as entries:
                found = [(one.stat(follow_symlinks=False), one.name) for one in entries]
        except FileNotFoundError:
            found = []
        found.sort(key=lambda one: one[0].st_mtime_ns, reverse=True)
        lines = [
            f"`{folder.relative_to(self._workspace)}/{name}`, {_size(status.st_size)}, "
            f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(status.st_mtime))}"
            for status, name in found[:MAX_LISTED]
        ]
        if len(found) > MAX_LISTED:
            lines.append(f"and {len(found) - MAX_LISTED} older ones")
        return "\n".join(lines) or "You have sent no files."

    def _folder_of(self, message: Inbound) -> Path:
        owner = folder_of_group(message.address.chat) if message.is_group else ""
        return self._workspace / RECEIVED / (owner or folder_of_person(message.who))

    def _moved(self, file: Attachment, folder: Path) -> Attachment:
        if file.place:
            return file
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_room(folder, file.size_bytes)
            target = _place_for(file, folder)
            # The workspace may be on another disk
            shutil.move(file.path, target)
            sync_folder(folder)
        except OSError as err:
            _log.warning("files: not moved to the workspace (path=%s, error=%s)", file.path, err)
            return file
        place = target.relative_to(self._workspace)
        return replace(file, path=str(target), place=str(place))

    def _make_room(self, folder: Path, needed_bytes: int) -> None:
        """Remove the oldest until the new one fits."""
        with os.scandir(folder) as entries:
            found = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
        found.sort(key=lambda one: one[0].st_mtime_ns, reverse=True)
        used, kept = needed_bytes, 1
        for status, path in found:
            used += status.st_size
            kept += 1
            if used > self._max_folder_bytes or kept > MAX_FILES:
                _log.info("files: received file removed to make room (path=%s)", path)
                Path(path).unlink(missing_ok=True)


def _place_for(file: Attachment, folder: Path) -> Path:
    """Return a free path, or that of the same file, which is then replaced by itself."""
    for name in _names(file):
        target = folder / name
        if not os.path.lexists(target):
            return target
        is_plain = target.is_file() and not target.is_symlink()
        if is_plain and filecmp.cmp(file.path, target, shallow=False):
            return target
    raise FileExistsError(f"every name like {file.name!r} is taken")


def _names(file: Attachment) -> Iterator[str]:
    """Yield the readable name, then the same with numbers."""
    stem, suffix = _parts(file)
    yield f"{stem}{suffix}"
    for number in range(2, MAX_FILES + 2):
        yield f"{stem} ({number}){suffix}"


def _parts(file: Attachment) -> tuple[str, str]:
    called = _UNFIT.sub("-", printable_line(file.name, MAX_NAME_CHARS)).strip(" .-")
    stem, dot, suffix = called.rpartition(".")
    is_suffix = bool(stem) and suffix.isalnum() and len(suffix) <= _MAX_SUFFIX_CHARS
    if not called:
        kind = _CALLED.get(file.media_type.partition("/")[0], "file")
        stem, is_suffix = f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}", False
    elif not is_suffix:
        stem = called
    # The channel named it after what it is said to be
    return stem.rstrip(" ."), f"{dot}{suffix}" if is_suffix else Path(file.path).suffix


def _size(size_bytes: int) -> str:
    return f"{size_bytes} B" if size_bytes < _KB else f"{size_bytes // _KB} kB"
