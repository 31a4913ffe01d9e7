"""Restore of a backup onto a system whose agent is stopped.

Built beside the old state, settled there, and switched to at the end; the old state is kept.
"""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from datetime import tzinfo
from pathlib import Path

from msgspec import Struct

from agent import __version__
from agent.backup import switching
from agent.backup.aftermath import RestoreNote, write_note
from agent.backup.database_copy import trouble_of
from agent.backup.encryption import Keys
from agent.backup.inventory import KEPT, STAGED
from agent.backup.manifest import Area, BackupManifest, PartKind
from agent.backup.settlement import JOBS, people_of, settle, settle_jobs
from agent.backup.switching import FolderSwitch, SwitchPlan, SystemPlaces
from agent.backup.verification import unpack
from agent.errors import BackupRefused, StorageFull
from agent.storage import lock
from agent.storage.files import PRIVATE_FOLDER
from agent.storage.lineage import Lineage, read_lineage, write_lineage
from agent.system.crash_points import crash_point

_MARGIN_BYTES = 16 * 1024 * 1024
_NO_SERVICE = (
    "the service's credentials: this agent is no service; write tokens and keys into its "
    "configuration (`barnacle setup`)"
)


class OutsideFolders(Struct, frozen=True):
    """Folders that the restored configuration puts outside of the state folder; None inside."""

    workspace: Path | None = None
    documents: Path | None = None

    def of(self, area: Area) -> Path | None:
        """Return the folder of an area."""
        return {Area.WORKSPACE: self.workspace, Area.DOCUMENTS: self.documents}.get(area)


class RestoreTarget(Struct, frozen=True):
    """System that is restored onto.

    Args:
        config: where its configuration is, or goes.
        outside: finds the folders by the configuration of the backup, which is None without one.
        now_s: by a clock that is believed; 0 where it is not set.
        takes_credentials: a service manager keeps them; without one a person has to.
        mark: of the file, kept beside the restored state; empty where nobody asks for it.
    """

    state_dir: Path
    config: Path
    system: SystemPlaces
    outside: Callable[[Path | None], OutsideFolders]
    now_s: float = 0.0
    zone: tzinfo | None = None
    takes_credentials: bool = True
    mark: str = ""


def restore(path: Path, keys: Keys, target: RestoreTarget) -> RestoreNote:
    """Restore a backup; return what came of it.

    Raises:
        BackupRefused: it cannot be restored; the system is as it was.
        StateInUse: the agent is not stopped.
        StorageFull: there is no room; the system is as it was.
    """
    with lock.hold(target.state_dir):
        if switching.pending(target.state_dir) is not None:
            raise BackupRefused(
                "an earlier restore was cut off: run `barnacle backup restore --continue` first"
            )
        switching.discard(target.state_dir)
        try:
            plan, note = _staged(path, keys, target)
            switching.decide(target.state_dir, plan)
        except BaseException:
            if switching.pending(target.state_dir) is None:
                switching.discard(target.state_dir)
            raise
        switching.finish(target.state_dir, plan, target.system)
    return note


def go_on(target: RestoreTarget) -> bool:
    """Finish a restore that was cut off; return false if there was none."""
    with lock.hold(target.state_dir):
        plan = switching.pending(target.state_dir)
        if plan is None:
            return False
        switching.finish(target.state_dir, plan, target.system)
    return True


def _staged(path: Path, keys: Keys, target: RestoreTarget) -> tuple[SwitchPlan, RestoreNote]:
    new = target.state_dir / STAGED / switching.NEW
    _check_room(path, target.state_dir)
    new.mkdir(mode=PRIVATE_FOLDER, parents=True)
    manifest = _unpacked(path, keys, new)
    crash_point("restore.unpacked")
    folders, around = _folders(manifest, new, target)
    plan, left = _plan(manifest, folders, target)
    note = _settled(manifest, new / Area.STATE.value, plan, (*around, *left), target)
    _give(target.state_dir / STAGED, target.state_dir)
    return plan, note


def _unpacked(path: Path, keys: Keys, new: Path) -> BackupManifest:
    found = unpack(path, keys, new)
    manifest = found.manifest
    _refuse_later(manifest.header.version)
    wrong = [f"{name} {why}" for name, why in found.differences().items()]
    databases = [part.name for part in manifest.parts if part.kind is PartKind.DATABASE]
    wrong += [f"{name}: {why}" for name in databases if (why := trouble_of(new / name))]
    if wrong:
        raise BackupRefused(f"the backup is damaged: {'; '.join(wrong[:3])}")
    (new / Area.STATE.value).mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    return manifest


def _folders(
    manifest: BackupManifest, new: Path, target: RestoreTarget
) -> tuple[dict[Area, Path], list[str]]:
    """Return the folders that are switched, by their areas, and a sentence for each other one."""
    config = new / Area.CONFIG.value / "barnacle.toml"
    outside = target.outside(config if config.is_file() else None)
    found, left = {Area.STATE: target.state_dir}, list[str]()
    areas = {part.area for part in manifest.parts}
    for area in (Area.WORKSPACE, Area.DOCUMENTS):
        if area.value not in areas:
            continue
        root = outside.of(area)
        if root is None:
            raise BackupRefused(f"its configuration does not say where the folder {area.value} is")
        if target.state_dir.resolve().is_relative_to(root.resolve()):
            # What is set aside of it would take the state along, in the middle of the switch
            left.append(
                f"the folder {area.value}: {root} holds the state folder and stays as it is; take "
                "its files out of the backup by hand"
            )
            continue
        _check_own(root, target.state_dir)
        found[area] = root
    return found, left


def _plan(
    manifest: BackupManifest, folders: dict[Area, Path], target: RestoreTarget
) -> tuple[SwitchPlan, tuple[str, ...]]:
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    kept = _fresh(target.state_dir / f"{KEPT}-{stamp}")
    switches: list[FolderSwitch] = []
    for area, root in folders.items():
        is_state = area is Area.STATE
        place = kept if is_state else root.with_name(f"{root.name}-{kept.name}")
        switches.append(switching.folder_switch(area, root, place, is_state=is_state))
    named, left = {}, []
    for part in manifest.parts:
        if part.area == Area.NAMED.value:
            # Beside the configuration alone: a backup does not say where root writes
            if Path(part.path).parent == target.config.parent:
                named[part.name] = part.path
            else:
                left.append(f"{part.path}: take it out of the backup by hand ({part.name})")
    areas = {part.area for part in manifest.parts}
    if Area.CREDENTIALS.value in areas and not target.takes_credentials:
        left.append(_NO_SERVICE)
    config = str(target.config) if Area.CONFIG.value in areas else ""
    plan = SwitchPlan(
        kept=str(kept), folders=tuple(switches), config=config, named=named, mark=target.mark
    )
    return plan, tuple(left)


def _settled(
    manifest: BackupManifest,
    state: Path,
    plan: SwitchPlan,
    left: tuple[str, ...],
    target: RestoreTarget,
) -> RestoreNote:
    header = manifest.header
    # A clock that shows a time before the backup is wrong
    now_s = target.now_s if target.now_s >= header.made_at_s else 0.0
    closed = settle(state, header.device, header.made_at_s)
    if now_s:
        closed += settle_jobs(state / JOBS, header.made_at_s, now_s, target.zone)
    epoch = max(header.epoch, read_lineage(target.state_dir).epoch) + 1
    write_lineage(state, Lineage(header.born_as or header.device, epoch))
    note = RestoreNote(
        made_at_s=header.made_at_s,
        device=header.device,
        version=header.version,
        epoch=epoch,
        restored_at_s=now_s,
        closed=closed,
        people=people_of(state),
        kept=plan.kept if any(folder.old for folder in plan.folders) else "",
        left=left,
    )
    write_note(state, note)
    return note


def _refuse_later(version: str) -> None:
    if _numbers(version) > _numbers(__version__):
        raise BackupRefused(
            f"version {version} made this backup, and this is {__version__}: install {version} or "
            "a later one first"
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3])


def _check_room(path: Path, state_dir: Path) -> None:
    needed, free = path.stat().st_size + _MARGIN_BYTES, shutil.disk_usage(state_dir).free
    if free < needed:
        raise StorageFull(
            f"{state_dir} has {free // 1024**2} MB free, and the restore needs "
            f"{needed // 1024**2} MB beside what is there: make room"
        )


def _check_own(root: Path, state_dir: Path) -> None:
    """Refuse a folder that belongs to somebody else: a backup does not say what root moves."""
    existing = next(path for path in (root, *root.parents) if path.exists())
    if existing == root and root.stat().st_uid != state_dir.stat().st_uid:
        raise BackupRefused(f"{root} belongs to another user than {state_dir}: it is not replaced")
    if existing.stat().st_dev != state_dir.stat().st_dev:
        raise BackupRefused(
            f"{root} is on another disk than {state_dir}: restore with `agent.workspace` and "
            "`memory.documents` inside the state folder, or unpack it by hand"
        )


def _fresh(path: Path) -> Path:
    """Return a path that is not there yet."""
    tried, number = path, 1
    while os.path.lexists(tried):
        tried, number = path.with_name(f"{path.name}-{number}"), number + 1
    return tried


def _give(folder: Path, state_dir: Path) -> None:
    """Give everything below a folder to whoever the state folder belongs to."""
    if os.geteuid() != 0:
        return
    whose = state_dir.stat()
    for path in _below(folder):
        with contextlib.suppress(FileNotFoundError):
            os.chown(path, whose.st_uid, whose.st_gid, follow_symlinks=False)


def _below(root: Path) -> Iterator[Path]:
    yield root
    for folder, folders, files in os.walk(root):
        yield from (Path(folder) / name for name in (*folders, *files))
