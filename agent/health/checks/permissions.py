"""May the agent use what it needs, and nobody else what is its own?"""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from agent.health.base import Finding, Patient
from agent.health.daemon_thread import in_daemon_thread
from agent.health.ownership import exposed, foreign
from agent.health.repairs.base import as_root

_CREDENTIALS = "etc/credstore"
_OURS = "barnacle."
# What an agent may be configured to speak to
_DEVICES = ("ttyACM*", "ttyUSB*", "gpiochip*", "i2c-*")
_MOST_NAMED = 3


async def check(patient: Patient) -> Finding:
    return await in_daemon_thread(lambda: _finding(patient))


def _finding(patient: Patient) -> Finding:
    folder = patient.state_dir
    if open_files := exposed(folder):
        shown = _listed(open_files)
        return Finding.failed(f"others may read {shown}: `barnacle doctor --fix` closes it")
    if others := foreign(folder):
        return Finding.failed(
            f"{_listed(others)} in {folder} belong to somebody else, perhaps since barnacle was "
            f"run by another user: {as_root(folder)} gives them back"
        )
    if readable := list(_readable_credentials(patient.readings.kernel.root)):
        return Finding.failed(f"others may read {_listed(readable)}: `sudo chmod 600` them")
    if closed := list(_closed_devices(patient.devices)):
        return Finding.warning("; ".join(closed[:_MOST_NAMED]))
    return Finding.ok(f"{folder} is for its owner alone, and the devices are open to {_me()}")


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
                f"{path} is not open to {_me()}: `sudo usermod -aG {group} {_me()}`, then log in "
                "again"
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
