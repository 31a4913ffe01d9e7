"""The machine's service: what a command of root is about, unless it names another agent.

Its folder is another user's. Root goes on as that user, so that nothing in there becomes root's and
no link that lies there leads root elsewhere; what needs root gives the service its files back.
"""

import atexit
import os
import pwd
import sys
from argparse import Namespace
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from agent.channels.credentials import find_credential
from agent.cli.output import clean
from agent.health.ownership import give_back
from agent.health.status import read_status
from agent.providers.credentials import KEY_VARIABLES
from agent.settings import SYSTEM_CONFIG, find_config

STATE = Path("/var/lib/barnacle")
ROOT = Path("/")
_UNITS = (
    "etc/systemd/system/barnacle.service",
    "usr/lib/systemd/system/barnacle.service",
    "lib/systemd/system/barnacle.service",
)
_CREDENTIALS = "run/credentials/barnacle.service"
# Where the flashable image has it; a service that runs says so itself
_MODEL = "usr/share/barnacle/model"
_OURS = "BARNACLE_"
# What the credential of a model's key is called
_KEY = "api_key"
# As in the unit: what people told the agent is nobody else's
_UMASK = 0o077


def adopt(
    environ: MutableMapping[str, str],
    arguments: Namespace,
    root: Path | None = None,
    uid: int | None = None,
) -> bool:
    """Add the service's environment to `environ` if it is meant; return true if so.

    Raises:
        ConfigRefused: its key is there and cannot be read.
    """
    root = root or ROOT
    is_root = (os.geteuid() if uid is None else uid) == 0
    if not (is_root and is_installed(root) and _is_meant(environ, arguments, root)):
        return False
    for name, value in _told_to_service(root).items():
        environ.setdefault(name, value)
    take_key(environ)
    return True


def is_installed(root: Path | None = None) -> bool:
    """Return true if this machine has the service."""
    return any(((root or ROOT) / unit).exists() for unit in _UNITS)


def take_key(environ: MutableMapping[str, str]) -> None:
    """Put a model's key from systemd's credentials into the environment.

    Raises:
        ConfigRefused: it is there and cannot be read.
    """
    if key := find_credential(_KEY, environ):
        environ.setdefault(KEY_VARIABLES[0], key.reveal())


def become_owner(folder: Path) -> None:
    """Go on as the user whom the folder belongs to, with the groups of that user.

    What root has left in there before, as earlier versions did, is given back first.
    """
    try:
        whose = folder.stat()
    except FileNotFoundError:
        # systemd makes it, and makes it the service's
        return
    if whose.st_uid == 0 or os.geteuid() != 0:
        return
    give_back(folder)
    try:
        os.initgroups(pwd.getpwuid(whose.st_uid).pw_name, whose.st_gid)
    except KeyError:
        os.setgroups([whose.st_gid])
    os.setresgid(whose.st_gid, whose.st_gid, whose.st_gid)
    os.setresuid(whose.st_uid, whose.st_uid, whose.st_uid)
    os.umask(_UMASK)
    # As in the unit; the home of root is closed from here on
    os.environ["HOME"] = str(folder)
    os.chdir(folder)


def give_back_at_end(folder: Path) -> None:
    """Give the command's files in the folder to whoever has the folder, when it ends."""
    if folder.exists():
        atexit.register(give_back, folder)


def tell_where(arguments: Namespace, folder: Path) -> None:
    """Tell a person without an agent of their own that the machine's service is another one."""
    is_named = _named_state(os.environ, arguments) or _named_config(os.environ, arguments)
    if os.geteuid() != 0 and is_installed() and not is_named and not folder.exists():
        said = f"no agent of yours in {folder}; for the machine's service: `sudo barnacle"
        print(f"barnacle: {clean(said)} {arguments.command} ...`", file=sys.stderr)


def closed_to(environ: Mapping[str, str], arguments: Namespace) -> str:
    """Return what a person is told to whom the service's configuration is closed; else nothing.

    An agent of their own does not begin without it: a closed file is no absence of its limits.
    """
    is_service = os.geteuid() == 0 or "STATE_DIRECTORY" in environ
    if is_service or _named_config(environ, arguments) or not is_installed():
        return ""
    if find_config(environ) != SYSTEM_CONFIG or os.access(SYSTEM_CONFIG, os.R_OK):
        return ""
    return (
        f"{SYSTEM_CONFIG} is the machine's service's and closed to you: `sudo barnacle "
        f"{arguments.command} ...` asks the service; for an agent of your own, write "
        "~/.config/barnacle/barnacle.toml (`barnacle check --example` prints one)"
    )


def _is_meant(environ: Mapping[str, str], arguments: Namespace, root: Path) -> bool:
    """Return true unless a folder or a configuration of another agent is named."""
    state, config = _named_state(environ, arguments), _named_config(environ, arguments)
    ours = {STATE, root / STATE.relative_to("/")}
    is_state = state is None or any(_is_same(Path(state), one) for one in ours)
    return is_state and (config is None or _is_same(Path(config), SYSTEM_CONFIG))


def _named_state(environ: Mapping[str, str], arguments: Namespace) -> str | None:
    return getattr(arguments, "state_dir", None) or environ.get("BARNACLE_STATE_DIR")


def _named_config(environ: Mapping[str, str], arguments: Namespace) -> str | None:
    return getattr(arguments, "config", None) or environ.get("BARNACLE_CONFIG")


def _is_same(path: Path, other: Path) -> bool:
    """Return true if both are one place; a card has its folders by two names."""
    try:
        return path.samefile(other)
    except OSError:
        return path == other


def _told_to_service(root: Path) -> dict[str, str]:
    told = {"STATE_DIRECTORY": str(STATE)}
    if SYSTEM_CONFIG.exists():
        # Not what root has in a home of its own
        told["BARNACLE_CONFIG"] = str(SYSTEM_CONFIG)
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
