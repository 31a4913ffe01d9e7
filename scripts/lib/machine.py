"""Requirements of an installation; an unmet one is a sentence."""

import os
import platform
import shutil
from pathlib import Path

from scripts.lib import places

# Packages, the embedding model and what builds it, beside the version that is there
NEEDED_MB = 900
_ARCHITECTURES = frozenset({"x86_64", "aarch64"})
_MB = 1_000_000
# The model's name, with a NUL byte at its end
_DEVICE = Path("sys/firmware/devicetree/base/model")


class Refused(Exception):
    """It cannot be installed here; the text says what to do."""


def refuse(root: Path, *, changes: bool, installs: bool) -> None:
    """Raise Refused where there is no point in beginning."""
    if not (root / "etc").is_dir():
        raise Refused(f"{root} is not a system: it has no folder etc")
    if changes and os.geteuid() != 0:
        raise Refused("this command changes the system: run it as root (sudo scripts/install)")
    if not shutil.which("systemctl") or not _has_systemd(root):
        raise Refused("this machine does not run systemd: start the agent with scripts/run instead")
    if installs:
        _refuse_to_install(root)
    if changes:
        _refuse_what_is_read_only(root)


def is_pi(root: Path) -> bool:
    try:
        return (root / _DEVICE).read_text(errors="replace").startswith("Raspberry Pi")
    except OSError:
        return False


def _has_systemd(root: Path) -> bool:
    return root != Path("/") or Path("/run/systemd/system").is_dir()


def _refuse_to_install(root: Path) -> None:
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise Refused(
            f"this system is {machine}, but packages exist only for x86-64 and arm64: "
            "on a Raspberry Pi, install the 64-bit system"
        )
    if (root / "usr/lib/systemd/system/barnacle.service").exists():
        raise Refused("this is a Barnacle card: update it with `barnacle update`")
    _refuse_beside_people(root)
    folder = next(one for one in (root / "opt", root) if one.exists())
    if (free_mb := shutil.disk_usage(folder).free // _MB) < NEEDED_MB:
        raise Refused(f"{folder} has {free_mb} MB free, {NEEDED_MB} are needed: free some space")


def _refuse_beside_people(root: Path) -> None:
    """Refuse where the service would run as a person; it is no news where it does already."""
    if (root / places.PREFIX).exists():
        return
    for user, home in places.people(root).items():
        raise Refused(
            f"the account {user} belongs to a person ({home}), and the service would run with "
            f"it: rename it (as another user: usermod --login NEW {user}), then try again"
        )


def _refuse_what_is_read_only(root: Path) -> None:
    """Refuse before a version is half in its place: the command is the last thing that is put."""
    for place in ("etc", places.VERSIONS.parent, places.COMMAND.parent):
        folder = root / place
        while not folder.exists():
            folder = folder.parent
        if not os.access(folder, os.W_OK):
            raise Refused(
                f"{folder} cannot be written: is its file system read-only, or the machine one "
                "that is changed as a whole? Make it writable, or run the agent with scripts/run"
            )
