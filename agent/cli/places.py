"""Configuration that a command changes, and the place of its secrets."""

import os
from argparse import Namespace
from pathlib import Path

from agent import settings
from agent.config import expanded, load
from agent.errors import BadArguments, ConfigRefused
from agent.provision.credentials import Credstore
from agent.provision.settings_plan import ProvisionPaths, appliance
from agent.settings import SYSTEM_CONFIG

UNITS = (Path("/etc/systemd/system"), Path("/usr/lib/systemd/system"))
SERVICE, _PROVISION = "barnacle.service", "barnacle-provision.service"


def places_of(arguments: Namespace) -> ProvisionPaths:
    """Return the service's paths for root if there is a service, else this user's own."""
    chosen = getattr(arguments, "config", None)
    if chosen or os.geteuid() != 0 or not _has_unit(SERVICE):
        own = expanded(chosen, os.environ) if chosen else _own_config()
        return ProvisionPaths(own)
    if _has_unit(_PROVISION) and Path("/data").is_mount():
        return appliance()
    return ProvisionPaths(SYSTEM_CONFIG, Credstore(Path("/etc/credstore")))


def _own_config() -> Path:
    found = settings.find_config(os.environ)
    if found is None or found == SYSTEM_CONFIG:
        return expanded("~/.config/barnacle/barnacle.toml", os.environ)
    return found


def check_writable(config: Path, command: str) -> None:
    """Refuse a file that this user cannot write, before any question."""
    folder = next(path for path in config.parents if path.exists())
    if not os.access(folder, os.W_OK):
        raise BadArguments(f"no permission to write {config}: try `sudo barnacle {command}`")


def check_usable(config: Path) -> None:
    """Refuse a file with mistakes before any question: what it says would not be in the new one.

    Raises:
        ConfigRefused: one line for each mistake, and what to do.
    """
    if not config.exists():
        return
    try:
        load(config, settings.Settings)
    except ConfigRefused as err:
        raise ConfigRefused(
            f"{err}\n{config}: has mistakes, and its other settings would be lost: correct them, "
            "or move the file away to begin anew"
        ) from err


def _has_unit(name: str) -> bool:
    return any((folder / name).exists() for folder in UNITS)
