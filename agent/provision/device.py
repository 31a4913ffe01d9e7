"""Settings of the machine on its data partition: name, time zone, locale, SSH keys.

The read-only system has links to these files, so that they hold from the first moment of a start.
"""

import contextlib
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from agent.storage.files import sync_folder, write_atomic

if TYPE_CHECKING:
    from agent.provision.settings import MachineSettings

# What the read-only system links to
DEVICE = Path("/data/device")
HOSTNAME, LOCALTIME, LOCALE = "hostname", "localtime", "locale.conf"
# sshd is started where it is there
AUTHORIZED_KEYS = "authorized_keys"
COUNTRY = "wifi-country"
# What a backup holds of them; the time zone is a link
FILES = (HOSTNAME, LOCALE, AUTHORIZED_KEYS, COUNTRY)
USUAL_HOSTNAME = "barnacle"
_ZONES = Path("/usr/share/zoneinfo")
_FOR_ALL, _FOR_ROOT, _FOLDER = 0o644, 0o600, 0o755


def keep(folder: Path, machine: "MachineSettings") -> None:
    """Write down what is said; what is not said stays as it was.

    Raises:
        StorageFull: some of it was not written; it may be tried again.
    """
    _make(folder)
    if machine.device.hostname:
        _write(folder / HOSTNAME, machine.device.hostname)
    if machine.device.timezone:
        _link(folder / LOCALTIME, _ZONES / machine.device.timezone)
    if machine.device.locale:
        _write(folder / LOCALE, f"LANG={machine.device.locale}")
    if machine.wifi is not None and machine.wifi.country:
        _write(folder / COUNTRY, machine.wifi.country)
    if machine.ssh is not None:
        _admit(folder / AUTHORIZED_KEYS, machine.ssh.keys)


def name_machine(folder: Path) -> str:
    """Give the running system the name that is kept; the name."""
    try:
        name = (folder / HOSTNAME).read_text("utf-8").strip()
    except (OSError, ValueError):
        name = ""
    if not name:
        name = USUAL_HOSTNAME
        _make(folder)
        _write(folder / HOSTNAME, name)
    if name != socket.gethostname():
        socket.sethostname(name)
    return name


def country_kept(folder: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        return (folder / COUNTRY).read_text("ascii").strip()
    return ""


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # Whatever the umask: every program looks the time zone up here
    folder.chmod(_FOLDER)


def _admit(path: Path, keys: tuple[str, ...]) -> None:
    if keys:
        _write(path, "\n".join(keys), _FOR_ROOT)
    else:
        path.unlink(missing_ok=True)


def _write(path: Path, text: str, mode: int = _FOR_ALL) -> None:
    write_atomic(path, f"{text}\n".encode())
    path.chmod(mode)


def _link(path: Path, to: Path) -> None:
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(to)
    fresh.replace(path)
    sync_folder(path.parent)
