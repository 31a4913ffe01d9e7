"""Devices that talk to each other without a server."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.channels.matrix.encryption import devices, olm
from agent.channels.matrix.encryption.devices import MatrixDevice
from agent.channels.matrix.encryption.own_device import (
    OwnDevice,
    device_keys,
    more_keys,
    ourselves,
    shown,
)
from agent.channels.matrix.encryption.vault import MIGRATIONS, KeyVaultSession
from agent.channels.matrix.events import MatrixEvent
from agent.storage.database import open_database


@dataclass(frozen=True, slots=True)
class Party:
    """One device of somebody."""

    shelf: KeyVaultSession
    us: OwnDevice

    @property
    def device(self) -> MatrixDevice:
        return MatrixDevice(self.us.user, self.us.device, self.us.curve, self.us.ed)

    def knows(self, other: "Party") -> None:
        """What the server says of the other's devices."""
        told = {other.us.device: device_keys(other.shelf, other.us)}
        stale = devices.track(self.shelf, [other.us.user])
        devices.found(self.shelf, other.us.user, told, stale.get(other.us.user, 1))

    def begins(self, other: "Party") -> None:
        """With one of the keys that the other has shown."""
        keys = more_keys(other.shelf, other.us, 0, has_fallback=True)["one_time_keys"]
        shown(other.shelf)
        name, key = next(iter(keys.items()))
        assert olm.begin(self.shelf, other.device, {name: key}, 1.0)

    def tells(self, other: "Party", kind: str, content: dict[str, object]) -> MatrixEvent:
        sealed: Any = olm.say(self.shelf, self.us, other.device, kind, content)
        return MatrixEvent("m.room.encrypted", sender=self.us.user, content=sealed)

    def hears(self, event: MatrixEvent) -> olm.OlmMessage:
        return olm.hear(self.shelf, self.us, event, 2.0)


Parties = Callable[..., Party]


@pytest.fixture
def party(tmp_path: Path) -> Iterator[Parties]:
    opened: list[sqlite3.Connection] = []

    def made(user: str, device: str = "DEVICE") -> Party:
        path = tmp_path / f"{len(opened)}.db"
        db = open_database(path, MIGRATIONS)
        # No power is cut here, and each statement is a transaction
        db.execute("PRAGMA synchronous=OFF")
        opened.append(db)
        shelf = KeyVaultSession(db, b"k" * 32)
        return Party(shelf, ourselves(shelf, user, device))

    yield made
    for db in opened:
        db.close()
