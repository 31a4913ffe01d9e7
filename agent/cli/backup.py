"""`barnacle backup`: makes a backup of the device, shows it, verifies it, restores it."""

import contextlib
import os
import sys
import tempfile
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

import msgspec

from agent.backup.encryption import Recipients, make_key
from agent.backup.folder import check_disk, is_apart, remove_old
from agent.backup.inventory import FOLDER, is_usable_folder
from agent.backup.manifest import SUFFIX, BackupHeader, BackupManifest, PartRecord
from agent.backup.reader import read_backup
from agent.backup.record import NAME as RECORD
from agent.backup.record import LastBackup, read_record, write_record
from agent.backup.usb import usb_folder
from agent.backup.verification import PartCheck, verify
from agent.backup.writer import BackupPlan
from agent.cli import exits
from agent.cli.backup_secrets import file_of, keys_of, passphrase_of
from agent.cli.backup_source import inventory_of, surroundings
from agent.cli.file_ownership import hand_over
from agent.cli.output import ask_secret, say, say_json, say_table
from agent.config import expanded
from agent.errors import BackupRefused, BadArguments, StorageFull
from agent.schedule.settings import BackupSettings
from agent.schedule.trust import is_trusted
from agent.storage.lineage import device_name

# A screen; the rest is in JSON
_MOST_ROWS = 30
_STANDARD_OUTPUT, _USB = "-", "usb"


def run(arguments: Namespace) -> int:
    if arguments.action in {"restore", "confirm"}:
        from agent.cli import backup_restore  # noqa: PLC0415 - the other actions go without it

        return backup_restore.run(arguments)
    actions = {None: _make, "show": _show, "verify": _verify, "key": _key}
    return actions[arguments.action](arguments)


def _make(arguments: Namespace) -> int:
    settings, paths = surroundings(arguments)
    wanted = settings.backup or BackupSettings()
    recipients = _recipients(arguments, wanted)
    recipients.check()
    to = arguments.to or wanted.to
    place = _place(to, paths.state_dir)
    plan = BackupPlan(
        inventory_of(arguments, settings, paths, place),
        recipients,
        device_name(),
        is_dated=is_trusted(time.time()),
    )
    begun_s = time.monotonic()
    if to == _STANDARD_OUTPUT:
        manifest = plan.write(sys.stdout.buffer.write)
        sys.stdout.buffer.flush()
        _say_made("the standard output", manifest, begun_s, sys.stderr)
        return exits.OK
    target = _target(place, plan, is_own=not to)
    before = read_record(paths.state_dir)
    check_disk(target.parent, paths.state_dir, before)
    manifest = plan.write_file(target)
    if not to:
        hand_over(paths.state_dir, (FOLDER, f"{FOLDER}/{target.name}"))
    whole = str(target) if manifest.is_whole else _last_whole(before)
    if not arguments.to:
        for old in remove_old(target.parent, plan.device, wanted.keep, target, Path(whole)):
            say(f"removed {old}")
    made = LastBackup(
        made_at_s=manifest.header.made_at_s,
        where=str(target),
        size_bytes=target.stat().st_size,
        tried_at_s=manifest.header.made_at_s,
        whole=whole,
        is_apart=is_apart(target.parent, paths.state_dir),
        left_out=manifest.header.left_out,
    )
    write_record(paths.state_dir, made)
    hand_over(paths.state_dir, (RECORD,))
    _say_made(str(target), manifest, begun_s, sys.stdout)
    return exits.OK


def _last_whole(before: LastBackup | None) -> str:
    """Return the file that was whole last; the last one where a version before this made it."""
    return "" if before is None else before.whole or before.where


def _place(to: str, state_dir: Path) -> Path:
    """Return where the backup goes: a folder, or a file."""
    if not to:
        return state_dir / FOLDER
    return usb_folder(state_dir) if to == _USB else expanded(to, os.environ)


def _target(place: Path, plan: BackupPlan, *, is_own: bool) -> Path:
    """Return the file: the one that was named, or a new one in a folder."""
    if is_own:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.is_dir():
        return place / plan.file_name(time.time())
    if place.name.endswith(SUFFIX):
        return place
    raise BadArguments(
        f"{place} is no folder that is there, and a file must end in {SUFFIX}: connect the disk, "
        "make the folder, or name the file so"
    )


def _say_made(where: str, manifest: BackupManifest, begun_s: float, stream: TextIO) -> None:
    seconds = time.monotonic() - begun_s
    amount = f"{len(manifest.parts)} parts, {_size(manifest.size_bytes)}, {seconds:.0f} s"
    lines = [
        f"backup of {manifest.header.device} written to {where}: {amount}",
        *(f"not in it: {sentence}" for sentence in manifest.header.left_out),
    ]
    print("\n".join(lines), file=stream)


def _show(arguments: Namespace) -> int:
    found = read_backup(file_of(arguments), keys_of(arguments))
    manifest = found.manifest
    wrong = found.differences()
    if arguments.json:
        say_json(msgspec.to_builtins(manifest) | {"differences": wrong})
        return exits.FAILED if wrong else exits.OK
    _say_header(manifest.header)
    say_table([("part", "files", "size"), *_grouped(manifest.parts)])
    for name, why in wrong.items():
        say(f"{name} {why}")
    return exits.FAILED if wrong else exits.OK


def _verify(arguments: Namespace) -> int:
    path = file_of(arguments)
    scratch = Path(arguments.scratch) if arguments.scratch else _scratch(arguments)
    try:
        found = verify(path, keys_of(arguments), scratch)
    except BackupRefused as err:
        _note_verified(arguments, path, str(err))
        raise
    trouble = f"{len(found.troubles)} of {len(found.checks)} parts are not right"
    _note_verified(arguments, path, trouble if found.troubles else "")
    if arguments.json:
        say_json(msgspec.to_builtins({"header": found.header, "parts": found.checks}))
        return exits.FAILED if found.troubles else exits.OK
    _say_header(found.header)
    say_table([("part", "size", "schema", "result"), *_verified_rows(found.checks)])
    if found.troubles:
        say(trouble)
        return exits.FAILED
    say(f"{len(found.checks)} parts are as they were when the backup was made")
    return exits.OK


def _note_verified(arguments: Namespace, path: Path, trouble: str) -> None:
    """Put it into the record of the last backup, if it is that one."""
    state_dir = surroundings(arguments)[1].state_dir
    record = read_record(state_dir)
    if record is None or not record.where or Path(record.where) != path.absolute():
        return
    noted = msgspec.structs.replace(record, verified_at_s=time.time(), verify_trouble=trouble)
    # The backup is as good as it is, also where this cannot be kept
    with contextlib.suppress(OSError, StorageFull):
        write_record(state_dir, noted)
        hand_over(state_dir, (RECORD,))


def _key(_arguments: Namespace) -> int:
    secret, public = make_key()
    print(f"# public key: {public}\n{secret}")
    if not sys.stdout.isatty():
        print(f"public key: {public}", file=sys.stderr)
    return exits.OK


def _recipients(arguments: Namespace, wanted: BackupSettings) -> Recipients:
    """Return the recipients of the command line, else of the configuration, else ask."""
    if arguments.recipient or arguments.passphrase_file:
        passphrase = passphrase_of(arguments.passphrase_file)
        return Recipients(passphrase, tuple(arguments.recipient))
    if wanted.is_wanted:
        return Recipients(passphrase_of(wanted.passphrase_file), wanted.recipients)
    if not sys.stdin.isatty():
        raise BadArguments(
            "nobody could open this backup: give --recipient or --passphrase-file, or write "
            "[backup] into the configuration (`barnacle backup key` makes a key)"
        )
    passphrase = ask_secret("Passphrase for the backup: ")
    if ask_secret("Again: ") != passphrase:
        raise BadArguments("these were two different passphrases")
    return Recipients(passphrase)


def _scratch(arguments: Namespace) -> Path:
    """Return the state folder, which has room and is private, else the usual place."""
    state_dir = surroundings(arguments)[1].state_dir
    return state_dir if is_usable_folder(state_dir) else Path(tempfile.gettempdir())


def _say_header(header: BackupHeader) -> None:
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(header.made_at_s))
    doubt = "" if header.is_dated else " by a clock that was not set"
    say(f"backup of {header.device}, made {at}{doubt} by version {header.version}")
    say(f"restored {header.epoch} times before it was made")
    for sentence in header.left_out:
        say(f"not in it: {sentence}")


def _grouped(parts: Sequence[PartRecord]) -> list[tuple[str, str, str]]:
    """Return rows of the parts by the first two folders of their names."""
    groups: dict[str, list[PartRecord]] = defaultdict(list)
    for part in parts:
        groups["/".join(part.name.split("/")[:2])].append(part)
    return [
        (name, str(len(found)), _size(sum(one.size_bytes for one in found)))
        for name, found in sorted(groups.items())
    ]


def _verified_rows(checks: Iterable[PartCheck]) -> list[tuple[str, str, str, str]]:
    """Return the databases and what is wrong, then as many others as a screen shows."""
    ordered = sorted(checks, key=lambda one: (not one.trouble, one.schema is None, one.name))
    shown = ordered[:_MOST_ROWS]
    rows = [
        (
            one.name,
            _size(one.size_bytes),
            "" if one.schema is None else str(one.schema),
            one.trouble or "ok",
        )
        for one in shown
    ]
    if more := ordered[_MOST_ROWS:]:
        size = _size(sum(one.size_bytes for one in more))
        wrong = sum(bool(one.trouble) for one in more)
        rows.append((f"and {len(more)} more files", size, "", f"{wrong} wrong" if wrong else "ok"))
    return rows


def _size(size_bytes: int) -> str:
    if size_bytes < 1024 * 10:
        return f"{size_bytes} B"
    if size_bytes < 1024 * 1024 * 10:
        return f"{size_bytes // 1024} KB"
    return f"{size_bytes // 1024**2} MB"
