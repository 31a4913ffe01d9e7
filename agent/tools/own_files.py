"""Files that whoever asks has sent: `received/mine`, and a name of one of them alone.

In a group these are the group's: what is shown there was sent there.
"""

import os
from pathlib import Path

from agent.errors import PathRefused
from agent.security.access import Audience
from agent.security.paths import list_beneath
from agent.security.received import MINE, RECEIVED, folder_of_group, folder_of_person

# More than anybody's folder holds
_MAX_LOOKED_AT = 2000


def is_own(path: str) -> bool:
    """Return true for `received/mine` and what is directly in it: it shows nobody else's files."""
    if path == MINE:
        return True
    above, _, name = path.rpartition("/")
    return above == MINE and name not in {"", ".", ".."}


def own_folder(audience: Audience) -> str:
    """Return the folder of the files of whoever asks."""
    group = audience.group
    owner = folder_of_group(group) if group else folder_of_person(audience.person)
    return f"{RECEIVED}/{owner}"


def resolved(path: str, audience: Audience) -> str:
    """Return the path with the asker's own folder in place of `received/mine`."""
    return own_folder(audience) + path.removeprefix(MINE) if is_own(path) else path


def found(workspace: Path, path: str, audience: Audience) -> str:
    """Return the file that is meant; a name that the workspace does not have may be one's own.

    Reads the disk.
    """
    place = resolved(path, audience)
    if is_own(path) or "/" in path:
        folder, _, name = place.rpartition("/")
    else:
        folder, name = own_folder(audience), path
    is_there = os.path.lexists(workspace / place)
    if is_there or folder != own_folder(audience):
        return place
    names = _names(workspace, folder)
    # People write names as their telephones do
    alike = [one for one in names if one.casefold() == name.casefold()]
    return f"{folder}/{alike[0]}" if alike else place


def _names(workspace: Path, folder: str) -> list[str]:
    try:
        entries = list_beneath(workspace, folder, _MAX_LOOKED_AT)
    except PathRefused:
        # Nothing was sent
        return []
    return [one.name for one in entries if not one.is_folder]
