from collections.abc import Callable
from pathlib import Path

import pytest

from agent.provision.boot import Provisioning
from agent.provision.credentials import Credstore
from agent.provision.firmware import Firmware
from agent.provision.settings_plan import ProvisionPaths


class Machine:
    """A card and a data partition, as folders; each start is a new `Provisioning`."""

    def __init__(self, root: Path) -> None:
        self.card = root / "firmware"
        self.device = root / "device"
        self.config = root / "etc/barnacle.toml"
        self.credstore = root / "credstore"
        self.connections = root / "connections"
        self.swept: list[tuple[str, ...]] = []
        # Why the data partition is not in use in this start
        self.unused = ""
        for folder in (self.card, self.device, self.config.parent, self.connections):
            folder.mkdir(parents=True)

    def write(self, text: str | bytes, name: str = "barnacle.toml") -> None:
        content = text.encode() if isinstance(text, str) else text
        (self.card / name).write_bytes(content)

    def read(self, name: str = "barnacle.toml") -> str:
        return (self.card / name).read_bytes().decode()

    def places(self) -> ProvisionPaths:
        return ProvisionPaths(
            self.config,
            Credstore(self.credstore),
            self.connections,
            self.device,
            unused=self.unused,
        )

    def start(self, sweep: Callable[[tuple[str, ...]], None] | None = None) -> bool:
        firmware = Firmware(self.card, is_mounted=False)
        return Provisioning(
            firmware,
            self.device,
            self.places,
            sweep or self.swept.append,
            unused=lambda: self.unused,
        ).run()

    def errors(self) -> str:
        path = self.card / "barnacle-errors.txt"
        return path.read_bytes().decode() if path.exists() else ""

    def kept(self) -> dict[str, bytes]:
        """Everything that a start may change, but for the card."""
        folders = (self.device, self.config.parent, self.credstore, self.connections)
        files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
