"""Everything that a backup holds of this machine, as far as this user may read it."""

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from agent.backup.inventory import Inventory
from agent.channels.credentials import OURS
from agent.cli import configuration
from agent.cli.places import places_of
from agent.cli.service import adopt
from agent.config import expanded
from agent.errors import ConfigRefused
from agent.provision import device, wifi
from agent.provision.credentials import CREDENTIALS, Credstore
from agent.provision.settings_plan import ProvisionPaths
from agent.settings import Paths, Settings

_CREDENTIALS_DIRECTORY = "CREDENTIALS_DIRECTORY"
_FILE_SUFFIX = "_file"
_NO_CREDENTIALS = "the service's credentials: only root, or the service itself, may read them"
_NO_MACHINE = "host name, SSH keys and Wi-Fi: only root may read them"
_ON_SERVER = "memories in PostgreSQL: back that server up by its own means"


def surroundings(arguments: Namespace) -> tuple[Settings, Paths]:
    """Return settings and paths; for root those of the machine's service."""
    adopt(os.environ, arguments)
    return configuration.load_own(arguments)


def service_environment(arguments: Namespace) -> Mapping[str, str]:
    """Return the environment; for root with that of the machine's service."""
    adopt(os.environ, arguments)
    return os.environ


def inventory_of(
    arguments: Namespace, settings: Settings, paths: Paths, backups: Path
) -> Inventory:
    """Return everything that this user may read."""
    places = places_of(arguments)
    left_out: list[str] = []
    named = []
    for path in dict.fromkeys(_named_files(settings)):
        if os.access(path, os.R_OK) and path.is_file():
            named.append(path)
        else:
            left_out.append(f"{path}: this user cannot read it")
    if settings.memory.backend == "postgres":
        left_out.append(_ON_SERVER)
    return Inventory(
        state_dir=paths.state_dir,
        workspace=paths.workspace,
        documents=paths.documents,
        config=paths.config,
        named=named,
        credentials=dict(_credentials(places.credstore, os.environ, left_out)),
        machine=dict(_machine(places, left_out)),
        left_out=tuple(left_out),
        backups=backups,
    )


def _named_files(value: object, name: str = "") -> Iterator[Path]:
    """Yield the files that keys such as `token_file` name."""
    if isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(type(value)):
            yield from _named_files(getattr(value, field.name), field.encode_name)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _named_files(item, str(key))
    elif isinstance(value, str) and value and name.endswith(_FILE_SUFFIX):
        yield expanded(value, os.environ)


def _credentials(
    store: Credstore | None, environ: Mapping[str, str], left_out: list[str]
) -> Iterator[tuple[str, str]]:
    if store is not None:
        for name in CREDENTIALS.values():
            try:
                if value := store.read(name):
                    yield name, value
            except ConfigRefused as err:
                left_out.append(str(err))
    elif folder := environ.get(_CREDENTIALS_DIRECTORY):
        for path in sorted(Path(folder).glob(f"{OURS}*")):
            yield path.name.removeprefix(OURS), path.read_text("utf-8").strip()
    elif os.geteuid() != 0 and _is_of_service():
        left_out.append(_NO_CREDENTIALS)


def _machine(places: ProvisionPaths, left_out: list[str]) -> Iterator[tuple[str, bytes]]:
    if places.device is None or places.connections is None:
        if Path("/data/device").exists():
            left_out.append(_NO_MACHINE)
        return
    for name in device.FILES:
        path = places.device / name
        if path.is_file():
            yield f"device/{name}", path.read_bytes()
    zone = places.device / device.LOCALTIME
    if zone.is_symlink():
        yield f"device/{device.LOCALTIME}", os.fsencode(zone.readlink())
    connection = places.connections / wifi.NAME
    if connection.is_file():
        yield f"connections/{wifi.NAME}", connection.read_bytes()


def _is_of_service() -> bool:
    return Path("/etc/systemd/system/barnacle.service").exists() or Path("/data").is_mount()
