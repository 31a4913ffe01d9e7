"""Store of readings that the settings choose: on this machine, or on the brain's server."""

import hashlib
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from agent.machine.boot import boot_id
from agent.readings.packing import Retention
from agent.readings.ring_device import RING_DEVICE
from agent.readings.store import ReadingStore
from agent.settings import Paths, Settings
from agent.system.clock import Clock

if TYPE_CHECKING:
    from agent.readings.shared_archive import SharedArchive

# ruff: noqa: PLC0415  # a server that is not configured loads nothing
_MACHINE_ID = Path("/etc/machine-id")
_ID_CHARS = 6
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def open_store(settings: Settings, paths: Paths, clock: Clock) -> ReadingStore:
    """Return the store; nothing is opened before its first use.

    Raises:
        ConfigRefused: the server cannot be used with these settings.
    """
    retention = Retention(minute_days=settings.readings.days)
    shared = None
    if settings.memory.backend == "postgres":
        shared = _shared(settings, paths, clock)
    return ReadingStore(paths.state_dir, retention, boot_id(), device=RING_DEVICE, shared=shared)


def agent_name(settings: Settings, paths: Paths) -> str:
    """Return the name of this agent among those that share a server; no other has it by itself."""
    if settings.readings.agent:
        return settings.readings.agent
    try:
        machine = _MACHINE_ID.read_text().strip()
    except OSError:
        machine = ""
    place = hashlib.sha256(f"{machine} {paths.state_dir.resolve()}".encode()).hexdigest()
    host = _NO_NAME.sub("-", socket.gethostname()).strip("-") or "barnacle"
    return f"{host}-{place[:_ID_CHARS]}"


def _shared(settings: Settings, paths: Paths, clock: Clock) -> "SharedArchive":
    from agent.errors import ConfigRefused
    from agent.memory.backends import postgres_url
    from agent.readings.archive import LocalArchive
    from agent.readings.shared_archive import SharedArchive
    from agent.text.config_hints import install_hint

    try:
        from agent.readings.postgres.archive import PostgresArchive
    except ImportError as err:
        raise ConfigRefused(
            f"memory.backend: postgres needs psycopg ({err}): {install_hint('postgres')}"
        ) from err
    server = PostgresArchive(postgres_url(settings.memory), clock, agent_name(settings, paths))
    return SharedArchive(LocalArchive(paths.state_dir), server, clock)
