"""The computer that a card is put into: QEMU, started as a Pi's boot loader would.

config.txt names the slot. The guest reaches what it is given and nothing else; its pages for
browsers are on a port of this machine's loopback.
"""

import os
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from image.lib.emulated import device_tree, qmp
from image.lib.emulated.card import Card
from image.lib.emulated.faults import GuestFailed
from image.lib.emulated.shell import Shell

# The console is a file that is looked at; this often
_LOOK_S = 0.5
# As much as a Zero 2 W has; the kernel keeps some of it to itself
MEMORY_MIB = 512
_MACHINE = ("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72", "-smp", "2")
# What the guest reaches, by the address that it finds it at
PLACES = {"model": "10.0.2.100", "telegram": "10.0.2.101", "signal": "10.0.2.102"}
_CONSOLE = "console=ttyAMA0,115200"
# What the kernel says when it is told to restart so
_TRYBOOT = "Restarting system with command '0 tryboot'"
# Programs that a guest needs, and Debian's packages of them
PROGRAMS = {"qemu-system-aarch64": "qemu-system-arm", "mcopy": "mtools", "socat": "socat"}
NETWORK_ROM_PACKAGE = "ipxe-qemu"
_NETWORK_ROM = "efi-virtio.rom"
USB_PORTS = ("board", "i2c")


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions of a start.

    Args:
        clock: what the machine's clock says, such as 2000-01-01; empty is this machine's time.
        log: a file that every write to the card is noted in.
        disk: a file that is plugged in as a second disk, to be read.
        config: what the boot loader reads.
        is_pi: the machine says that it is a Raspberry Pi, whose kernel has then to know its ways.
        memory_mib: of the machine.
    """

    clock: str = ""
    log: Path | None = None
    disk: Path | None = None
    config: str = "config.txt"
    is_pi: bool = False
    memory_mib: int = MEMORY_MIB


def with_console(line: str) -> str:
    """Return the kernel's command line for the emulated machine.

    Of ports with one name, the kernel takes the first number that is asked for: that of a Pi 5, and
    the port that is there stays silent. The serial console comes last: it is the one that is kept.
    """
    words = [word for word in line.split() if not word.startswith("console=ttyAMA")]
    return " ".join([*words, _CONSOLE, "systemd.debug_shell=hvc0", "systemd.show_status=1"])


class Guest:
    """One computer; it may be started again and again.

    Args:
        work: a folder for the console and the sockets.
        ports: of this machine, for the names in PLACES.
    """

    def __init__(self, card: Card, work: Path, ports: dict[str, int]) -> None:
        self.card = card
        self.console = work / "console.log"
        self.shell = Shell(work / "shell")
        self.starts = 0
        self.started_s = 0.0
        # Where this machine finds the guest's pages for browsers
        self.pages_port = _free_port()
        self._work = work
        self._ports = ports
        self._process: subprocess.Popen[bytes] | None = None
        self._said_before = 0
        self._is_cut = True

    def start(self, conditions: Conditions | None = None) -> None:
        """Power on; the boot loader's part is done here."""
        given = conditions or Conditions()
        slot = self.card.slot(given.config)
        for name in ("vmlinuz", "initrd.img"):
            (self._work / name).write_bytes(self.card.read(f"{slot}/{name}"))
        line = with_console(self.card.read(f"{slot}/cmdline.txt").decode().strip())
        command = [*self._command(given), "-append", line]
        self._said_before = self.console.stat().st_size if self.console.exists() else 0
        self.starts += 1
        self.started_s = time.monotonic()
        self._is_cut = False
        with (self._work / "qemu.log").open("a") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)

    def cut_power(self) -> None:
        self._is_cut = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def age_s(self) -> float:
        """Return the time since power-on."""
        return time.monotonic() - self.started_s

    @property
    def wants_start(self) -> bool:
        """True where it has ended without a cut: a watchdog, a panic, or a restart."""
        return not self._is_cut and not self.is_running

    def wait_for_shell(self, most_s: float) -> Shell:
        """Raises GuestFailed when it never comes."""
        deadline_s = self.started_s + most_s
        while self.is_running and time.monotonic() < deadline_s:
            if self.shell.answers():
                return self.shell
            time.sleep(_LOOK_S)
        raise GuestFailed(f"no shell after {most_s:.0f} s\n{self.last_words()}")

    def wait_for_end(self, most_s: float) -> float:
        """Until it has ended or wants to start anew; how long that took."""
        begun_s = time.monotonic()
        while time.monotonic() - begun_s < most_s:
            if not self.is_running:
                return time.monotonic() - begun_s
            time.sleep(_LOOK_S)
        raise GuestFailed(f"still running after {most_s:.0f} s\n{self.last_words()}")

    @property
    def wants_trial(self) -> bool:
        """Return true if its last request to the boot loader was tryboot.txt, once."""
        return self.has_said(_TRYBOOT)

    def has_said(self, words: str) -> bool:
        """Return true if its console has shown these words since power-on."""
        with self.console.open("rb") as console:
            console.seek(self._said_before)
            return words.encode() in console.read()

    def order(self, command: str, **arguments: object) -> dict[str, object]:
        return qmp.order(self._work / "control", command, **arguments)

    def last_words(self) -> str:
        lines = self.console.read_text(errors="replace").splitlines()[-25:]
        return "\n".join(lines)

    def port(self, name: str) -> Path:
        """Return the path for a device of that USB port."""
        return self._work / f"usb-{name}"

    def _command(self, conditions: Conditions) -> list[str]:
        work = self._work
        for name in ("shell", "control", *(f"usb-{port}" for port in USB_PORTS)):
            (work / name).unlink(missing_ok=True)
        machine = [*_MACHINE, "-m", str(conditions.memory_mib)]
        tree = device_tree.of_a_pi(machine, work, by_name=conditions.is_pi)
        return [
            *(*machine, "-accel", "tcg,thread=multi", "-display", "none", "-dtb", str(tree)),
            *("-kernel", f"{work}/vmlinuz", "-initrd", f"{work}/initrd.img"),
            *("-chardev", f"file,id=console,path={self.console},append=on"),
            *("-serial", "chardev:console", "-monitor", "none"),
            *("-qmp", f"unix:{work}/control,server=on,wait=off"),
            *(*self._disk(conditions), *self._network(), *self._usb()),
            *("-device", "virtio-serial-pci", "-device", "virtconsole,chardev=shell"),
            *("-chardev", f"socket,id=shell,path={work}/shell,server=on,wait=off"),
            # The Pi's own watchdog is another one; what it does is the same
            *("-device", "i6300esb", "-action", "watchdog=reset"),
            *(("-rtc", f"base={conditions.clock}") if conditions.clock else ()),
            # Starting anew is the boot loader's matter, which is played here
            "-no-reboot",
        ]

    def _disk(self, conditions: Conditions) -> list[str]:
        drive = f"driver=file,filename={self.card.path},node-name=file"
        nodes = ["-blockdev", drive, "-blockdev", "driver=raw,file=file,node-name=card"]
        if conditions.log is not None:
            conditions.log.write_bytes(b"")
            log = f"driver=file,filename={conditions.log},node-name=log"
            noted = "driver=blklogwrites,file=card,log=log,node-name=noted"
            nodes += ["-blockdev", log, "-blockdev", noted]
        node = "card" if conditions.log is None else "noted"
        nodes += ["-device", f"virtio-blk-pci,drive={node}"]
        if conditions.disk is not None:
            disk = f"driver=file,filename={conditions.disk},node-name=disk,read-only=on"
            nodes += ["-blockdev", disk, "-device", "virtio-blk-pci,drive=disk"]
        return nodes

    def _network(self) -> list[str]:
        given = "".join(
            f",guestfwd=tcp:{PLACES[name]}:80-cmd:socat - TCP:127.0.0.1:{port}"
            for name, port in self._ports.items()
        )
        pages = f",hostfwd=tcp:127.0.0.1:{self.pages_port}-:80"
        network = f"user,id=net,restrict=on{pages}{given}"
        return ["-netdev", network, "-device", "virtio-net-pci,netdev=net"]

    def _usb(self) -> list[str]:
        arguments = ["-device", "qemu-xhci"]
        for name in USB_PORTS:
            socket = f"socket,id=usb-{name},path={self.port(name)},server=on,wait=off"
            arguments += ["-chardev", socket, "-device", f"usb-redir,chardev=usb-{name}"]
        return arguments


def _free_port() -> int:
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
        return port


def missing_programs() -> list[str]:
    """Debian's packages that a guest needs and this machine has not."""
    wanted = PROGRAMS
    folders = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin".split(":")
    missing = [
        package
        for program, package in wanted.items()
        if not any((Path(folder) / program).exists() for folder in folders)
    ]
    # Without QEMU nobody knows, and its card needs the other package in any case
    if wanted["qemu-system-aarch64"] in missing or not _has_network_rom():
        missing.append(NETWORK_ROM_PACKAGE)
    return sorted(missing)


def _has_network_rom() -> bool:
    """Return true if QEMU finds what its network card starts with, in another package."""
    asked = subprocess.run(
        ["qemu-system-aarch64", "-L", "help"], capture_output=True, text=True, check=True
    )
    return any((Path(folder) / _NETWORK_ROM).exists() for folder in asked.stdout.split())
