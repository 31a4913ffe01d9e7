"""A real mosquitto in a folder of its own: on loopback, with its sessions kept over restarts."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.canaries import secret
from tests.waits import wait_until_sync

PASSWORD = secret("mqtt")
USER = "device"
# It starts in a moment; a busy machine takes longer
_START_S = 15.0


def program() -> str | None:
    return shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin")


def unavailable_reason() -> str | None:
    return None if program() else "no mosquitto on this machine: apt-get install mosquitto"


class Mosquitto:
    """A broker; `lines` go into its configuration."""

    def __init__(self, folder: Path, *lines: str) -> None:
        self.folder = folder / "mosquitto"
        self.folder.mkdir()
        self.port = _free_port()
        self._lines = lines
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return when it listens."""
        user = ["user root"] if os.getuid() == 0 else []
        kept = ["persistence true", f"persistence_location {self.folder}/"]
        limits = ["per_listener_settings false", *(self._lines or ["allow_anonymous true"])]
        config = self.folder / "conf"
        listener = f"listener {self.port} 127.0.0.1"
        config.write_text("\n".join([*limits[:1], *user, *kept, listener, *limits[1:], ""]))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program() or "mosquitto", "-c", config], stdout=log, stderr=log
            )
        wait_until_sync(self._listens, told=self.log)

    def stop(self) -> None:
        """As a service is stopped: what it keeps is written."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_START_S)
            self._process = None

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False


@contextlib.contextmanager
def running(folder: Path, *lines: str) -> Iterator[Mosquitto]:
    broker = Mosquitto(folder, *lines)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def with_password(folder: Path) -> list[str]:
    """Lines that let only our user in."""
    path = folder / "passwords"
    made = subprocess.run(
        ["mosquitto_passwd", "-b", "-c", path, USER, PASSWORD], capture_output=True, check=False
    )
    assert made.returncode == 0, made.stderr
    path.chmod(0o600)
    return ["allow_anonymous false", f"password_file {path}"]


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
