"""Environment of this machine's service, which root uses unless another folder is named.

What systemd gives to the service and to nobody else (its folders, its secrets, what its unit sets)
is where a person who looks has to look too.
"""

import os
from argparse import Namespace
from collections.abc import MutableMapping
from pathlib import Path

from agent.cli.run import take_key
from agent.health.status import read_status

STATE = Path("/var/lib/barnacle")
_UNITS = (
    "etc/systemd/system/barnacle.service",
    "usr/lib/systemd/system/barnacle.service",
    "lib/systemd/system/barnacle.service",
)
_CREDENTIALS = "run/credentials/barnacle.service"
# Where the flashable image has it; a service that runs says so itself
_MODEL = "usr/share/barnacle/model"
_OURS = "BARNACLE_"


def adopt(
    environ: MutableMapping[str, str],
    arguments: Namespace,
    root: Path = Path("/"),
    uid: int | None = None,
) -> bool:
    """Add the service's environment to `environ` if it is meant; return true if so.

    Raises:
        ConfigRefused: its key is there and cannot be read.
    """
    named = getattr(arguments, "state_dir", None) or environ.get("BARNACLE_STATE_DIR")
    is_root = (os.geteuid() if uid is None else uid) == 0
    is_meant = named is None or Path(named) == STATE
    if not (is_root and is_meant and any((root / unit).exists() for unit in _UNITS)):
        return False
    for name, value in _told_to_service(root).items():
        environ.setdefault(name, value)
    take_key(environ)
    return True


def _told_to_service(root: Path) -> dict[str, str]:
    told = {"STATE_DIRECTORY": str(STATE)}
    if (root / _CREDENTIALS).is_dir():
        told["CREDENTIALS_DIRECTORY"] = str(root / _CREDENTIALS)
    if (root / _MODEL).is_dir():
        told["BARNACLE_MODEL_DIR"] = str(root / _MODEL)
    return told | _running(root)


def _running(root: Path) -> dict[str, str]:
    """Return the settings of the unit and its drop-ins."""
    status = read_status(root / STATE.relative_to("/") / "status.json")
    if status is None or not status.is_running:
        return {}
    try:
        told = Path(f"/proc/{status.pid}/environ").read_text(errors="replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in told.split("\0"))
    return {name: value for name, _, value in pairs if name.startswith(_OURS)}
