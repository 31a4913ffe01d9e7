"""The partitions of the card: where each one starts, how long it is, and what is told to sfdisk.

Everything else (the command line of the kernel, fstab, the initial RAM disk) takes the identity of
a partition from here.
"""

from dataclasses import dataclass

MIB = 1024 * 1024
SECTOR = 512
# Fixed: the same input makes the same bytes, and a card is only ever in one machine
DISK_ID = 0xBA12AC1E
# Volume serial number of the firmware partition
FAT_ID = 0xBA12F001
DATA_UUID = "ba12ac1e-0004-4d5a-9e0b-000000000004"
# Cards are made of blocks of 4 MiB; the first one holds the partition table
_FIRST_MIB = 4


@dataclass(frozen=True, slots=True)
class Partition:
    """One entry of the table; `kind` is its MBR type."""

    number: int
    name: str
    kind: str
    start_mib: int
    size_mib: int

    @property
    def partuuid(self) -> str:
        return f"{DISK_ID:08x}-{self.number:02d}"

    @property
    def start_bytes(self) -> int:
        return self.start_mib * MIB

    @property
    def size_bytes(self) -> int:
        return self.size_mib * MIB

    @property
    def end_mib(self) -> int:
        return self.start_mib + self.size_mib


def _laid_out(*wanted: tuple[str, str, int]) -> tuple[Partition, ...]:
    partitions: list[Partition] = []
    start_mib = _FIRST_MIB
    for number, (name, kind, size_mib) in enumerate(wanted, start=1):
        partitions.append(Partition(number, name, kind, start_mib, size_mib))
        start_mib += size_mib
    return tuple(partitions)


PARTITIONS = _laid_out(
    # Two kernels with their RAM disks are 150 MB
    ("firmware", "c", 256),
    ("system-a", "83", 640),
    ("system-b", "83", 640),
    # Grows to the end of the card on the first start
    ("data", "83", 128),
)
FIRMWARE, SYSTEM_A, SYSTEM_B, DATA = PARTITIONS
IMAGE_BYTES = DATA.end_mib * MIB
SLOTS = {"A": SYSTEM_A, "B": SYSTEM_B}
# What an image leaves free at the end of a slot, as much as cards erase at once: in the last sector
# of the first slot starts are counted
RESERVED_MIB = 4
COUNTER = SYSTEM_A
COUNTER_SECTOR = COUNTER.size_bytes // SECTOR - 1
# At the end of the other slot the agent keeps its newest readings, without a file system: a ring of
# 320 slots of 4 KiB, and room to spare
RING = SYSTEM_B
RING_START_BYTES = RING.size_bytes - RESERVED_MIB * MIB
RING_BYTES = 2 * MIB
# Places that scripts and tables name
_NAMED = {
    "@FIRMWARE@": FIRMWARE.partuuid,
    "@DATA@": DATA.partuuid,
    "@COUNTER_SECTOR@": str(COUNTER_SECTOR),
    "@COUNTER@": COUNTER.partuuid,
    "@RING_START@": str(RING_START_BYTES),
    "@RING_BYTES@": str(RING_BYTES),
    "@RING@": RING.partuuid,
}


def filled_in(text: str) -> str:
    """Return a script or a table with the places of the card that it names."""
    for name, value in _NAMED.items():
        text = text.replace(name, value)
    return text


def sfdisk_script() -> str:
    """The table as sfdisk reads it."""
    lines = ["label: dos", f"label-id: 0x{DISK_ID:08x}", "unit: sectors", ""]
    for partition in PARTITIONS:
        start, size = (count * MIB // SECTOR for count in (partition.start_mib, partition.size_mib))
        active = ", bootable" if partition is FIRMWARE else ""
        lines.append(f"start={start}, size={size}, type={partition.kind}{active}")
    return "\n".join(lines) + "\n"


def command_line(slot: str) -> str:
    """Return the kernel command line of a slot."""
    words = [
        # Serial ports of a Pi 3 or 4, and of a Pi 5; the last is where systemd talks: a screen
        *("console=ttyS1,115200", "console=ttyAMA10,115200", "console=tty1"),
        *(f"root=PARTUUID={SLOTS[slot].partuuid}", "rootfstype=squashfs", "ro", "rootwait"),
        # A slot that cannot start gives way to the other one
        "panic=10",
        # Nobody here asks for pages of 2 MiB; to have them at hand the kernel keeps a twentieth of
        # the memory free, and gives them to every heap
        "transparent_hugepage=never",
        "net.ifnames=0",
        f"barnacle.slot={slot}",
    ]
    return " ".join(words)


def config_txt(slot: str) -> str:
    """Return the settings of the Pi's own boot loader, which name the slot."""
    return f"""\
# Read by the Raspberry Pi before anything else. os_prefix names the folder that is started.
arm_64bit=1
enable_uart=1
upstream_kernel=1
disable_splash=1
os_prefix={slot}/
kernel=vmlinuz
initramfs initrd.img followkernel
# The boot loader of a Pi 4 takes its tree for a Compute Module 4 too
[cm4]
device_tree=bcm2711-rpi-cm4-io.dtb
# A Pi 5 looks for its tree before it reads os_prefix
[pi5]
os_check=0
# Debian's kernel has no tree for these: they say so instead of standing still
[cm5]
os_check=1
[pi500]
os_check=1
[all]
"""
