"""Taking settings over: planned and checked whole, then kept; the same again changes nothing.

Tables that are said replace the device's tables of that name; the others stay as they are.
"""

import asyncio
import contextlib
import copy
import logging
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from agent.app.channels import open_channels
from agent.channels.catalog import configured
from agent.channels.credentials import find_secret, variable_of
from agent.channels.platform import Platform, PlatformContext, check_gateway
from agent.config import Secret, decode, load
from agent.errors import ConfigRefused, StorageFull
from agent.health.data_partition import unkept_text, why_unused
from agent.net.http import HttpClient
from agent.providers.credentials import chosen_service
from agent.provision import device, wifi
from agent.provision.credentials import CREDENTIALS, Credstore
from agent.provision.secret_values import Place, drop, found, is_starred, put, secrets_in
from agent.provision.settings import MACHINE_TABLES, CardSettings, MachineSettings
from agent.provision.toml_text import Table, dumps, edited
from agent.settings import SYSTEM_CONFIG, Paths, Settings
from agent.storage.files import write_atomic
from agent.system.clock import SystemClock
from agent.text.config_hints import key_path

# Letting go of what never began to listen takes no time; what hangs is not waited for
_CLOSE_TIMEOUT_S = 5.0


def check_openable(settings: Settings, environ: Mapping[str, str]) -> None:
    """Open every channel of the configuration.

    Raises:
        ConfigRefused: one cannot be used so.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="barnacle-") as folder:
            asyncio.run(_opened(settings, environ, Path(folder)))
    except (OSError, StorageFull) as err:
        # What cannot be tried is not refused for it
        _log.warning("provision: platforms not tested (error=%s)", err)


async def _opened(settings: Settings, environ: Mapping[str, str], folder: Path) -> None:
    http = HttpClient()
    try:
        reach = PlatformContext(Paths(None, folder), environ, http, SystemClock())
        for channel in open_channels(settings, reach):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                    await channel.aclose()
    finally:
        await http.aclose()


_log = logging.getLogger(__name__)

# Paths of a flashed card
_CONNECTIONS = Path("/etc/NetworkManager/system-connections")
_CREDSTORE, _ENCRYPTED = Path("/etc/credstore"), Path("/etc/credstore.encrypted")
# Root's to change, and the agent's to read by its group
_CONFIG_MODE = 0o640
BEFORE = ".before"
_RESTORE = "restore"


@dataclass(frozen=True, slots=True)
class ProvisionPaths:
    """Places where things are kept.

    Args:
        credstore: None where nobody but the configuration would give secrets to the agent.
        connections: NetworkManager's; None where the network is not ours to set.
        device: None where the machine is not.
        environ: what an agent of one's own is told of secrets besides.
        unused: why memory stands in the place of the data partition; usually empty.
    """

    config: Path
    credstore: Credstore | None = None
    connections: Path | None = None
    device: Path | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    unused: str = ""


def appliance() -> ProvisionPaths:
    """Return the paths of a flashed card."""
    credstore = Credstore(_CREDSTORE, _ENCRYPTED)
    return ProvisionPaths(
        SYSTEM_CONFIG, credstore, _CONNECTIONS, device.DEVICE, unused=why_unused()
    )


class Plan(Struct, frozen=True):
    """Plan of what is kept, all of it checked.

    Args:
        agent: the whole configuration of the agent.
        credentials: new ones by their names; an empty one goes.
        secrets: all that are said or stand behind stars, to be wiped where the card has them.
    """

    machine: MachineSettings
    agent: Table
    credentials: Mapping[str, str]
    secrets: tuple[str, ...]


def planned(told: Table, name: str, places: ProvisionPaths, without: Place = ()) -> Plan:
    """Return the plan for a table as it was read; nothing is changed yet.

    Args:
        without: a table of the device that goes.

    Raises:
        ConfigRefused: one line for each thing that is wrong.
    """
    table = copy.deepcopy(told)
    settings = decode(dumps(table), CardSettings, Path(name))
    secrets = dict(secrets_in(settings))
    before = existing(places.config)
    _restore(table, secrets, before, name, places)
    machine = _machine(table, name)
    agent = {key: value for key, value in table.items() if key not in MACHINE_TABLES}
    merged = _merged(before, agent)
    _leave_out(merged, without)
    credentials = _credentials(merged, agent) if places.credstore is not None else {}
    _check(merged, credentials, name, places)
    every = dict.fromkeys(str(found(table, place)) for place in secrets)
    return Plan(machine, merged, credentials, tuple(every))


def take(plan: Plan, places: ProvisionPaths, *, may_be_forgotten: bool = False) -> None:
    """Keep everything; safe to be done again where it was cut off.

    Args:
        may_be_forgotten: the caller does it again in the next start.

    Raises:
        StorageFull: some of it was not kept.
    """
    if places.unused and not may_be_forgotten:
        raise StorageFull(unkept_text(places.unused))
    if places.credstore is not None:
        for credential, value in plan.credentials.items():
            if value:
                places.credstore.put(credential, value)
            else:
                places.credstore.drop(credential)
    # Without credentials there are secrets in it, and the agent is whoever wrote it
    _write_config(places.config, plan.agent, is_services=places.credstore is not None)
    network = plan.machine.wifi
    if network is not None and network.ssid and places.connections is not None:
        wifi.connect(places.connections, network)
    if places.device is not None:
        device.keep(places.device, plan.machine)


def existing(config: Path) -> Table:
    """The configuration that the agent has; none where it could not use it either."""
    if not config.exists():
        return {}
    try:
        load(config, Settings)
        return tomllib.loads(config.read_text("utf-8-sig"))
    except ConfigRefused as err:
        _log.warning("provision: cannot remove the previous configuration (error=%s)", err)
        return {}


def _restore(
    table: Table, secrets: Mapping[Place, Secret], before: Table, name: str, places: ProvisionPaths
) -> None:
    """Put what was taken over before where its stars stand."""
    problems = []
    for place, secret in secrets.items():
        # What opens a backup is used once and kept nowhere
        if not is_starred(secret.reveal()) or place[0] == _RESTORE:
            continue
        if was := kept(place, before, places):
            put(table, place, was)
        else:
            key = key_path([str(step) for step in place])
            problems.append(
                f"{name}: {key}: stars stand for a stored secret, but none is stored; write "
                "the secret itself"
            )
    if problems:
        raise ConfigRefused("\n".join(problems))


def kept(place: Place, before: Table, places: ProvisionPaths) -> str:
    """A secret that was taken over before; empty where there is none."""
    if place == ("wifi", "password") and places.connections is not None:
        return wifi.password_kept(places.connections)
    if place in CREDENTIALS and places.credstore is not None:
        return places.credstore.read(CREDENTIALS[place])
    was = found(before, place)
    return was if isinstance(was, str) else ""


def _machine(table: Table, name: str) -> MachineSettings:
    said = {key: table[key] for key in MACHINE_TABLES if key in table}
    return decode(dumps(said), MachineSettings, Path(name))


def _merged(before: Table, said: Table) -> Table:
    """Table by table; of the channels each counts by itself."""
    merged = copy.deepcopy(before) | copy.deepcopy(said)
    old, new = before.get("channels"), said.get("channels")
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        merged["channels"] = copy.deepcopy({**old, **new})
    return merged


def _leave_out(table: Table, place: Place) -> None:
    """Take a table out, with those above it that held nothing else."""
    while place:
        drop(table, place)
        place = place[:-1]
        if found(table, place) != {}:
            return


def _credentials(merged: MutableMapping[str, object], said: Table) -> dict[str, str]:
    """Take out what systemd gives to the agent; empty what is said no more."""
    credentials = {}
    for place, name in CREDENTIALS.items():
        value = found(merged, place)
        if isinstance(value, str) and value:
            credentials[name] = value
            drop(merged, place)
        elif found(said, place[:-1]) is not None:
            credentials[name] = ""
    return credentials


def _check(
    merged: Table, credentials: Mapping[str, str], name: str, places: ProvisionPaths
) -> None:
    """Check that an agent would start with it."""
    settings = decode(dumps(merged), Settings, Path(name))
    # A service is told nothing of what the person has who sets it up
    told = {} if places.credstore is not None else dict(places.environ)
    environ = told | dict(_environ(credentials, places))
    try:
        chosen_service(settings.provider, environ)
        for platform in configured(settings.channels):
            _check_platform(platform, settings, environ)
        check_openable(settings, environ)
    except ConfigRefused as err:
        raise ConfigRefused(f"{name}: {_in_words_of_the_file(str(err))}") from err


def _in_words_of_the_file(text: str) -> str:
    for place, credential in CREDENTIALS.items():
        text = text.replace(variable_of(credential), ".".join(map(str, place)))
    return text


def _check_platform(platform: Platform, settings: Settings, environ: Mapping[str, str]) -> None:
    """An agent whose platform lacks what it needs would not start, and nobody could tell why."""
    # Each is looked at as it is told
    list(platform.secrets(settings.channels, environ))
    check_gateway(platform, settings.channels, environ, settings.gateway)
    if not platform.wanted:
        raise ConfigRefused(f"channels.{platform.name}: {platform.about}; remove the table")
    table = getattr(settings.channels, platform.name)
    for wanted in platform.wanted:
        value = getattr(table, wanted.key)
        if wanted.is_secret:
            place = ("channels", platform.name, wanted.key)
            file = getattr(table, f"{wanted.key}_file", "")
            value = find_secret(CREDENTIALS[place], value, file, environ)
        if wanted.is_needed and not value:
            how = f". {wanted.how}" if wanted.how else ""
            raise ConfigRefused(
                f"channels.{platform.name}: {wanted.key} is missing; write it there{how}"
            )


def _environ(credentials: Mapping[str, str], places: ProvisionPaths) -> Iterator[tuple[str, str]]:
    for name in CREDENTIALS.values():
        if name in credentials:
            yield variable_of(name), credentials[name]
        elif places.credstore is not None:
            yield variable_of(name), places.credstore.read(name)


def _write_config(path: Path, table: Table, *, is_services: bool) -> None:
    old = path.read_bytes() if path.exists() else b""
    text = text_with(old, table).encode()
    if text.strip() == old.strip():
        return
    if old:
        write_atomic(path.with_name(path.name + BEFORE), old)
    write_atomic(path, text)
    if is_services and os.geteuid() == 0:
        os.chown(path, -1, path.parent.stat().st_gid)
        path.chmod(_CONFIG_MODE)


def text_with(old: bytes, table: Table) -> str:
    """Return the file's text with the values of `table`, and its comments as they were."""
    return edited(old.decode("utf-8-sig", "replace"), table)
