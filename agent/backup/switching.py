"""Switch from one state to another: all or nothing, whatever cuts it off.

The new state lies whole below the old one before the switch begins. The plan on the disk is the
decision: without it nothing has happened; with it every step can be done again until it is gone.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from agent.backup.inventory import STAGED, is_passing
from agent.backup.manifest import Area
from agent.storage.files import PRIVATE_FOLDER, sync_folder, write_atomic
from agent.system.crash_points import crash_point

PLAN = "plan.json"
NEW = "new"
MARK = "restored-file"


class FolderSwitch(msgspec.Struct, frozen=True, kw_only=True):
    """Switch of one folder.

    Args:
        area: the folder of the new entries below `new`.
        old: names of the entries that are set aside.
    """

    area: str
    root: str
    kept: str
    old: tuple[str, ...]


class SwitchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of a switch.

    Args:
        config: where the configuration goes; empty where there is none in the backup.
        mark: of the file that is restored, for whoever must not restore it twice.
        named: paths of files that the configuration names, by their names in the backup.
    """

    kept: str
    folders: tuple[FolderSwitch, ...]
    config: str = ""
    named: Mapping[str, str] = msgspec.field(default_factory=dict)
    mark: str = ""


# Writes a file of the system, and keeps the one that was there in a folder
PutFile = Callable[[Path, bytes, Path], None]
PutValues = Callable[[Mapping[str, bytes], Path], None]


class SystemPlaces(msgspec.Struct, frozen=True):
    """Hands over what lies outside of the state folder.

    Args:
        put_file: writes the configuration, and files that it names.
        put_credentials, put_machine: keep values by their names.
    """

    put_file: PutFile
    put_credentials: PutValues
    put_machine: PutValues


def folder_switch(area: Area, root: Path, kept: Path, *, is_state: bool) -> FolderSwitch:
    """Return the switch of a folder as it is now."""
    names = sorted(path.name for path in root.iterdir()) if root.is_dir() else []
    old = [name for name in names if not (is_state and is_passing(name))]
    return FolderSwitch(area=area.value, root=str(root), kept=str(kept), old=tuple(old))


def decide(state_dir: Path, plan: SwitchPlan) -> None:
    """Write the plan: from here on the new state counts."""
    _sync_tree(state_dir / STAGED)
    crash_point("restore.staged")
    # Escaped: names that a person has put there may be no UTF-8, which msgspec refuses
    content = json.dumps(msgspec.to_builtins(plan)).encode()
    write_atomic(state_dir / STAGED / PLAN, content)
    crash_point("restore.decided")


def pending(state_dir: Path) -> SwitchPlan | None:
    """Return the plan of a switch that was decided and is not finished."""
    try:
        content = (state_dir / STAGED / PLAN).read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.convert(json.loads(content), SwitchPlan)


def finish(state_dir: Path, plan: SwitchPlan, system: SystemPlaces) -> None:
    """Do what the plan says, wherever an earlier run was cut off."""
    new = state_dir / STAGED / NEW
    kept = Path(plan.kept)
    kept.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    system.put_credentials(_values(new / Area.CREDENTIALS.value), kept)
    system.put_machine(_values(new / Area.MACHINE.value), kept)
    for name, path in plan.named.items():
        system.put_file(Path(path), (new / name).read_bytes(), kept)
    if plan.config:
        content = (new / Area.CONFIG.value / "barnacle.toml").read_bytes()
        system.put_file(Path(plan.config), content, kept)
    crash_point("restore.system_written")
    for folder in plan.folders:
        _switch(folder, new / folder.area, state_dir.stat())
    if plan.mark:
        write_atomic(state_dir / MARK, plan.mark.encode())
    (state_dir / STAGED / PLAN).unlink()
    sync_folder(state_dir / STAGED)
    crash_point("restore.finished")
    discard(state_dir)


def discard(state_dir: Path) -> None:
    """Remove what an earlier run has left that was not decided."""
    shutil.rmtree(state_dir / STAGED, ignore_errors=True)


def _switch(folder: FolderSwitch, new: Path, whose: os.stat_result) -> None:
    root, kept = Path(folder.root), Path(folder.kept)
    for place in (root, kept):
        place.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        # Made just now by root; one that was there belongs to the agent's user already
        if os.geteuid() == 0 and place.lstat().st_uid != whose.st_uid:
            os.chown(place, whose.st_uid, whose.st_gid, follow_symlinks=False)
    for name in folder.old:
        # There already: this one is of the new state
        if not os.path.lexists(kept / name) and os.path.lexists(root / name):
            (root / name).rename(kept / name)
            crash_point("restore.set_aside")
    sync_folder(kept)
    sync_folder(root)
    for path in sorted(new.iterdir()) if new.is_dir() else ():
        path.rename(root / path.name)
        crash_point("restore.put_in_place")
    sync_folder(root)


def _values(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        return {}
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _sync_tree(root: Path) -> None:
    """Make every name below the folder durable; the files were synced when they were written."""
    for folder, _folders, _files in os.walk(root):
        with contextlib.suppress(OSError):
            sync_folder(Path(folder))
