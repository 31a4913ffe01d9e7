"""The built image in QEMU, started as a Pi's boot loader would: config.txt names the slot.

What is written goes into a copy that is thrown away; the guest reaches no network.
"""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from image.lib.layout import FIRMWARE, MIB

# A command in the emulated system takes a hundred times what it takes on a Pi
_ANSWER_S = 180.0
# The console is a file that is looked at; this often
_LOOK_S = 1.0
_MEMORY_MIB = 1024


class GuestFailed(Exception):
    """The emulated system did not do what was asked."""


class Guest:
    """One start of the image; ends with its block.

    Args:
        image: the card; it is not changed.
        work: a folder for the copy, the console and the socket of the shell.
        slot: "A" or "B"; as config.txt says when not given.
    """

    def __init__(self, image: Path, work: Path, slot: str = "") -> None:
        self._work = work
        self._card = work / "card.img"
        self.console = work / "console.log"
        shutil.copyfile(image, self._card)
        self._slot = slot or self._configured()

    def __enter__(self) -> Self:
        self.started_s = time.monotonic()
        self._process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_for_shell(self, most_s: float) -> "Shell":
        """The root shell that only a test's start has; raises GuestFailed when it never comes."""
        deadline_s = self.started_s + most_s
        while self.is_running and time.monotonic() < deadline_s:
            shell = Shell(self._work / "shell")
            if shell.answers():
                return shell
            time.sleep(_LOOK_S)
        raise GuestFailed(f"no shell after {most_s:.0f} s\n{self.last_words()}")

    def last_words(self) -> str:
        lines = self.console.read_text(errors="replace").splitlines()[-25:]
        return "\n".join(lines)

    def _configured(self) -> str:
        config = self._read("config.txt").decode()
        [prefix] = [line for line in config.splitlines() if line.startswith("os_prefix=")]
        return prefix.removeprefix("os_prefix=").rstrip("/")

    def _read(self, name: str) -> bytes:
        place = f"{self._card}@@{FIRMWARE.start_bytes}"
        return subprocess.run(
            ["mtype", "-i", place, f"::/{name}"], capture_output=True, check=True
        ).stdout

    def _command(self) -> list[str]:
        line = self._read(f"{self._slot}/cmdline.txt").decode().strip()
        # The serial console last: it is the one that is kept
        line += " console=ttyAMA0,115200 systemd.debug_shell=hvc0 systemd.show_status=1"
        for name in ("vmlinuz", "initrd.img"):
            (self._work / name).write_bytes(self._read(f"{self._slot}/{name}"))
        shell = self._work / "shell"
        shell.unlink(missing_ok=True)
        return [
            *("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72", "-smp", "2"),
            *("-m", str(_MEMORY_MIB), "-accel", "tcg,thread=multi", "-display", "none"),
            *("-kernel", f"{self._work}/vmlinuz", "-initrd", f"{self._work}/initrd.img"),
            *("-append", line, "-serial", f"file:{self.console}", "-monitor", "none"),
            *("-drive", f"if=none,id=card,format=raw,cache=unsafe,file={self._card}"),
            *("-device", "virtio-blk-pci,drive=card"),
            *("-netdev", "user,id=net,restrict=on", "-device", "virtio-net-pci,netdev=net"),
            *("-device", "virtio-serial-pci", "-device", "virtconsole,chardev=shell"),
            *("-chardev", f"socket,id=shell,path={shell},server=on,wait=off"),
            "-no-reboot",
        ]


class Shell:
    """The root shell of a started image."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._asked = 0

    def answers(self) -> bool:
        try:
            return self.run("echo here", most_s=10.0).strip() == "here"
        except (GuestFailed, OSError):
            return False

    def run(self, command: str, most_s: float = _ANSWER_S) -> str:
        """What a command prints; raises GuestFailed when it does not end in time."""
        self._asked += 1
        # In two pieces, so that the echo of the line is not taken for the answer
        mark = f"{os.getpid()}-{self._asked}-{time.monotonic_ns()}"
        quiet = "stty -echo; export SYSTEMD_PAGER=cat TERM=dumb; echo"
        line = f"{quiet}; echo begin''-{mark}; {command}; echo end''-{mark}\n"
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(most_s)
            connection.connect(str(self._path))
            connection.sendall(line.encode())
            said = self._until(connection, f"end-{mark}", time.monotonic() + most_s)
        return said.partition(f"begin-{mark}")[2].partition(f"end-{mark}")[0].strip()

    def _until(self, connection: socket.socket, end: str, deadline_s: float) -> str:
        said = b""
        while end.encode() not in said:
            if time.monotonic() > deadline_s:
                raise GuestFailed(f"no answer; said: {said[-300:]!r}")
            try:
                piece = connection.recv(MIB)
            except TimeoutError:
                piece = b""
            if not piece:
                raise GuestFailed(f"no answer; said: {said[-300:]!r}")
            said += piece
        return said.decode(errors="replace").replace("\r", "")
