"""Checks of the security: access rights, the audit log and the sandbox."""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from agent.approvals import effect_counts
from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.ownership import exposed, foreign
from agent.health.repairs.base import as_root
from agent.security.audit import lines_of
from agent.security.audit_chain import problems
from agent.security.sandbox.choice import choose

_WITHOUT = "the tools shell and git are disabled, and documents are read in a process with limits"
_AS_ROOT = "; as root it cannot limit the number of processes of a script: use another account"


async def check_sandbox(patient: Patient) -> Finding:
    choice = await in_daemon_thread(lambda: choose(patient.state_dir))
    if choice.sandbox is None:
        return Finding.warning(f"{choice.trouble}; until then {_WITHOUT}")
    told = f"programs and documents are isolated by {choice.sandbox.name}"
    # The limit on processes does not hold for root, whatever it is called inside
    if choice.sandbox.name == "bubblewrap" and os.geteuid() == 0:
        return Finding.warning(told + _AS_ROOT)
    return Finding.ok(told)


_FOLDER = "audit"
_DATABASE = "agent.db"


async def check_audit(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _audit_finding(patient))


def _audit_finding(patient: Patient) -> Finding:
    folder = patient.state_dir / _FOLDER
    anchor = effect_counts.read_anchor(patient.state_dir / _DATABASE)
    count = 0

    def counted() -> Iterator[tuple[str, bytes]]:
        nonlocal count
        for line in lines_of(folder):
            count += 1
            yield line

    try:
        wrong = list(problems(counted(), [anchor] if anchor else []))
    except OSError as err:
        return Finding.failed(f"cannot read the audit log in {folder}: {err.strerror}")
    if wrong:
        return Finding.failed(
            f"the audit log was changed after it was written ({wrong[0]}): `barnacle "
            "audit verify` lists every problem; if the disk is sound, find out who had "
            f"access to {folder}"
        )
    return Finding.ok(f"audit log intact: {count} rows" if count else "no audit log yet")


_CREDENTIALS = "etc/credstore"
_OURS = "barnacle."
# What an agent may be configured to speak to
_DEVICES = ("ttyACM*", "ttyUSB*", "gpiochip*", "i2c-*")
_MOST_NAMED = 3


async def check_permissions(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _finding(patient))


def _finding(patient: Patient) -> Finding:
    folder = patient.state_dir
    if open_files := exposed(folder):
        shown = _listed(open_files)
        return Finding.failed(f"other users can read {shown}: `barnacle doctor --fix` corrects it")
    if others := foreign(folder):
        return Finding.failed(
            f"{_listed(others)} in {folder} belong to another user, perhaps because "
            f"barnacle was run by one: {as_root(folder)} corrects it"
        )
    if readable := list(_readable_credentials(patient.readings.kernel.root)):
        return Finding.failed(
            f"other users can read {_listed(readable)}: run `sudo chmod 600` on them"
        )
    if closed := list(_closed_devices(patient.devices)):
        return Finding.warning("; ".join(closed[:_MOST_NAMED]))
    return Finding.ok(f"{folder} is private, and {_me()} can use the devices")


def _readable_credentials(root: Path) -> Iterator[Path]:
    try:
        paths = sorted((root / _CREDENTIALS).glob(f"{_OURS}*"))
    except OSError:
        # Not even their names are shown to us: as it should be
        return
    for path in paths:
        try:
            if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                yield path
        except OSError:
            continue


def _closed_devices(folder: Path) -> Iterator[str]:
    for pattern in _DEVICES:
        for path in sorted(folder.glob(pattern)):
            if os.access(path, os.R_OK | os.W_OK):
                continue
            group = _group(path)
            yield (
                f"{_me()} cannot open {path}: run `sudo usermod -aG {group} {_me()}`, then "
                "log in again"
            )


def _group(path: Path) -> str:
    number = path.stat().st_gid
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _me() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _listed(paths: list[Path]) -> str:
    more = len(paths) - _MOST_NAMED
    return ", ".join(map(str, paths[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
