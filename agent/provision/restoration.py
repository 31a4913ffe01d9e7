"""Places of a machine outside of the state folder, for a restore: each file is kept before it goes.

The configuration is root's; credentials go where systemd finds them, encrypted for this machine.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from agent.backup.manifest import Area
from agent.backup.restore import OutsideFolders
from agent.backup.switching import SystemPlaces
from agent.config import expanded, load
from agent.errors import BackupRefused, ConfigRefused
from agent.provision import device, wifi
from agent.provision.credentials import Credstore
from agent.provision.settings_plan import ProvisionPaths
from agent.settings import Settings
from agent.storage.files import PRIVATE_FOLDER, write_atomic

_CONFIG_MODE, _PRIVATE, _FOR_ALL = 0o640, 0o600, 0o644
_DEVICE, _CONNECTIONS = "device/", "connections/"
_ZONES = "/usr/share/zoneinfo/"


class MachineRestore(Struct, frozen=True):
    """Restore onto this machine.

    Args:
        is_services: the configuration is read by a service of another user.
    """

    places: ProvisionPaths
    is_services: bool

    def system(self) -> SystemPlaces:
        """Return the calls that a restore makes."""
        return SystemPlaces(self._put_file, self._put_credentials, self._put_machine)

    def _put_file(self, path: Path, content: bytes, kept: Path) -> None:
        old = path.read_bytes() if path.exists() else None
        if old == content:
            return
        if old is not None:
            _keep(path, kept / Area.CONFIG.value)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
        if self.is_services and os.geteuid() == 0:
            os.chown(path, -1, path.parent.stat().st_gid)
            path.chmod(_CONFIG_MODE)

    def _put_credentials(self, values: Mapping[str, bytes], kept: Path) -> None:
        store = self.places.credstore
        if store is None:
            # The restore has said so
            return
        for name, value in values.items():
            text = value.decode("utf-8")
            if _stored(store, name) != text:
                for path in store.files(name):
                    _keep(path, kept / Area.CREDENTIALS.value)
                store.put(name, text)

    def _put_machine(self, values: Mapping[str, bytes], kept: Path) -> None:
        folder, connections = self.places.device, self.places.connections
        if folder is None or connections is None:
            return
        for name, content in values.items():
            if name == f"{_CONNECTIONS}{wifi.NAME}":
                _replace(connections / wifi.NAME, content, _PRIVATE, kept)
            elif name == f"{_DEVICE}{device.LOCALTIME}":
                _link(folder / device.LOCALTIME, os.fsdecode(content))
            elif name.removeprefix(_DEVICE) in device.FILES:
                mode = _PRIVATE if name.endswith(device.AUTHORIZED_KEYS) else _FOR_ALL
                _replace(folder / name.removeprefix(_DEVICE), content, mode, kept)


def outside_folders(config: Path | None, state_dir: Path) -> OutsideFolders:
    """Return the folders that a configuration puts outside of the state folder.

    Raises:
        BackupRefused: it cannot be read by this version.
    """
    if config is None:
        return OutsideFolders()
    try:
        settings = load(config, Settings)
    except ConfigRefused as err:
        raise BackupRefused(f"the configuration in the backup is refused: {err}") from err
    chosen = (settings.agent.workspace, settings.memory.documents)
    paths = [expanded(one, os.environ) if one else None for one in chosen]
    return OutsideFolders(
        *(None if path is None or path.is_relative_to(state_dir) else path for path in paths)
    )


def _stored(store: Credstore, name: str) -> str:
    """Return a credential; empty where it cannot be read, as after a change of the machine."""
    try:
        return store.read(name)
    except ConfigRefused:
        return ""


def _keep(path: Path, folder: Path) -> None:
    """Copy a file as it is, once."""
    target = folder / path.name
    if target.exists():
        return
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    shutil.copyfile(path, target)
    target.chmod(_PRIVATE)


def _replace(path: Path, content: bytes, mode: int, kept: Path) -> None:
    if path.exists():
        if path.read_bytes() == content:
            return
        _keep(path, kept / Area.MACHINE.value)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, content)
    path.chmod(mode)


def _link(path: Path, target: str) -> None:
    """Set the time zone; a backup does not say where else a link of root's leads."""
    if not target.startswith(_ZONES) or ".." in target:
        return
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(path)
