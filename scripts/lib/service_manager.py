"""systemd, asked with its own programs: for the running system, or for one in a folder."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scripts.lib import places
from scripts.lib.progress import Progress, StepFailed

# The agent says that it is ready within 2 min, and longer only while it says what it is at
_ANSWER_TIMEOUT_S = 30
# One that hangs is killed after 25 s, and what runs after it has as long
_STOP_TIMEOUT_S = 120
_JOURNAL_LINES = "15"
_UDEV = Path("/run/udev/control")
_SUBSYSTEMS = [f"--subsystem-match={name}" for name in ("tty", "gpio", "i2c-dev")]
_SERVICE = places.ENABLED[0]
_CONSOLE = "barnacle-console.service"


class ServiceManager:
    """systemd below `root`, for the installer; a system that does not run starts nothing."""

    def __init__(self, root: Path, progress: Progress) -> None:
        self.runs = root == Path("/")
        self._root = root
        self._progress = progress

    def make_users(self) -> None:
        """Users, groups and folders, as the files below etc/ name them."""
        etc = self._root / "etc"
        self._run("make users", "systemd-sysusers", etc / "sysusers.d/barnacle.conf")
        folders = etc / "tmpfiles.d/barnacle.conf"
        self._run("make folders", "systemd-tmpfiles", "--create", folders)

    def enable(self) -> None:
        self._run("enable the service", "systemctl", "--quiet", "enable", *places.ENABLED)

    def disable(self, units: Sequence[str]) -> None:
        """Undo what enabled them, a person too."""
        self._run("disable the service", "systemctl", "--quiet", "disable", *units)

    def is_enabled(self) -> bool:
        wanted = self._root / "etc/systemd/system/multi-user.target.wants"
        return (wanted / _SERVICE).is_symlink()

    def runs_from(self, version: Path) -> bool:
        """Return true if the service runs from that version, with the present units."""
        told = self._told("show", "-P", "MainPID", "-P", "NeedDaemonReload", _SERVICE).split()
        if len(told) != len(("pid", "reload")) or "yes" in told:
            return False
        [process] = [word for word in told if word.isdecimal()] or ["0"]
        try:
            command = Path("/proc", process, "cmdline").read_bytes()
        except OSError:
            return False
        return os.fsencode(version / "bin/python") == command.split(b"\0")[0]

    def restart(self) -> None:
        """Start the service with the units and rules that are there now.

        Raises:
            StepFailed: it did not become ready; the text has the end of its journal.
        """
        self._run("read the units", "systemctl", "daemon-reload")
        # A container has no devices of its own
        if _UDEV.exists():
            self._run("read the rules", "udevadm", "control", "--reload")
            self._run("name the boards", "udevadm", "trigger", *_SUBSYSTEMS)
        self._told("reset-failed", *places.ENABLED)
        self._run("open the sandbox's socket", "systemctl", "start", places.ENABLED[1])
        try:
            self._run("start the service", "systemctl", "restart", _SERVICE)
        except StepFailed as err:
            _output("systemctl", "stop", _SERVICE, timeout_s=_STOP_TIMEOUT_S)
            raise StepFailed(f"{self._journal()}\n{err}") from err
        # It reads its pages when they are asked for, and the folder that it started from goes
        self._told("try-restart", _CONSOLE)

    def stop(self, units: Sequence[str]) -> None:
        """Stop them, and every instance of a template; sockets first, which would start others."""
        running = (unit.replace("@.", "@*.") for unit in units)
        in_order = sorted(running, key=lambda unit: not unit.endswith(".socket"))
        self._run("stop the service", "systemctl", "stop", *in_order)

    def forget(self) -> None:
        self._run("read the units", "systemctl", "daemon-reload")

    def remove_users(self) -> None:
        for user in places.users(self._root):
            self._run(f"remove the user {user}", "userdel", user)

    def _run(self, title: str, program: str, *arguments: str | Path) -> None:
        below = [] if self.runs else [f"--root={self._root}"]
        self._progress.run(
            title,
            [program, *below, *arguments],
            environment=os.environ,
            remedy="The log says more.",
        )

    def _told(self, *arguments: str) -> str:
        return _output("systemctl", *arguments)

    def _journal(self) -> str:
        return _output("journalctl", "--no-pager", "-n", _JOURNAL_LINES, "-u", _SERVICE)


def _output(*command: str, timeout_s: float | None = None) -> str:
    """Return what a program says; empty where it does not answer in time."""
    limit_s = _ANSWER_TIMEOUT_S if timeout_s is None else timeout_s
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout
