"""Running system and target slot of an update, as the image describes them.

Only looks. A machine that was not started from an image of ours has no slots and is refused.
"""

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from agent.errors import UpdateRefused
from agent.update.bundle import Version, order

SLOTS = ("A", "B")
# Of the kernel's command line and of what the image says; both are a few hundred bytes
_MAX_BYTES = 16 * 1024
_SLOT = re.compile(r"(?:^|\s)barnacle\.slot=([AB])(?=\s|\Z)")
_ROOT = re.compile(r"(?:^|\s)root=PARTUUID=(\S+)")


class Identity(msgspec.Struct, frozen=True):
    """`image.json`: what was built, and the partition of each slot."""

    version: Version
    built_s: int
    architecture: str
    slots: dict[str, str]


class Machine(Struct, frozen=True):
    """A machine with two slots.

    Args:
        running: the slot that was started.
        knows_tryboot: its kernel can ask the boot loader for one start by tryboot.txt.
    """

    identity: Identity
    running: str
    root: Path
    knows_tryboot: bool = True

    @property
    def other(self) -> str:
        """The slot that does not run."""
        return "B" if self.running == "A" else "A"

    @property
    def firmware(self) -> Path:
        return self.root / "boot/firmware"

    @property
    def records(self) -> Path:
        return self.root / "data/update"

    @property
    def keys(self) -> Path:
        return self.root / "usr/share/barnacle/update-keys"

    def partition(self, slot: str) -> Path:
        return self.root / "dev/disk/by-partuuid" / self.identity.slots[slot]

    def is_newer(self, version: str, built_s: int) -> bool:
        return order(version, built_s) > order(self.identity.version, self.identity.built_s)


def find_machine(root: Path = Path("/")) -> Machine:
    """The machine below `root`.

    Raises:
        UpdateRefused: it has no slots.
    """
    try:
        said = _read(root / "usr/share/barnacle/image.json")
        identity = msgspec.json.decode(said, type=Identity)
        command_line = _read(root / "proc/cmdline").decode("utf-8", "replace")
    except (OSError, msgspec.DecodeError, UnicodeError) as err:
        raise UpdateRefused(
            "this machine does not run a Barnacle image: update it the way it was installed"
        ) from err
    slot, partition = _SLOT.search(command_line), _ROOT.search(command_line)
    if slot is None or partition is None or identity.slots.get(slot[1]) != partition[1]:
        raise UpdateRefused("the kernel command line does not name the running slot")
    if set(identity.slots) != set(SLOTS):
        raise UpdateRefused("this system does not have two slots")
    return Machine(identity, slot[1], root, knows_tryboot=_knows_tryboot(root))


def _knows_tryboot(root: Path) -> bool:
    """Only the kernels of Raspberry Pi Ltd. have this device, and pass the wish on."""
    try:
        is_pi = b"raspberrypi," in _read(root / "proc/device-tree/compatible")
    except OSError:
        is_pi = False
    return not is_pi or (root / "dev/vcio").exists()


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_BYTES)
