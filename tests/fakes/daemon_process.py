"""`barnacle run` as a process, to which terminals of the machine attach."""

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.fakes.chat_process import chat_environ
from tests.waits import wait_until_sync

STOP_LIMIT_S = 30.0


class DaemonProcess:
    """An agent with the state of the chats in the same folder; `log` is what it said."""

    # What Python starts
    program: tuple[str, ...] = ("-m", "agent.cli.main")

    def __init__(self, folder: Path, config: str = "", **environ: str) -> None:
        self.socket = Path(environ.get("RUNTIME_DIRECTORY", folder / "state")) / "chat.sock"
        self._environ = {**chat_environ(folder, config), **environ}
        self._log = folder / "daemon.log"
        self._journal = folder / "state" / "agent.db"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def rss_kib(self) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

    def has_recorded(self) -> bool:
        """Every answer is made and known to be sent: any other comes once more after a kill."""
        with contextlib.closing(sqlite3.connect(f"file:{self._journal}?mode=ro", uri=True)) as db:
            (open_ones,) = db.execute(
                "SELECT (SELECT count(*) FROM outbox WHERE state = 'pending')"
                " + (SELECT count(*) FROM inbox WHERE state IN ('accepted', 'running'))"
            ).fetchone()
        return int(open_ones) == 0

    def start(self) -> None:
        """Return when terminals can attach."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self.program, "run"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environ,
            )
        wait_until_sync(self._listens, told=self.log)

    def connect(self) -> socket.socket:
        """A bare connection."""
        folder = os.open(self.socket.parent, os.O_PATH)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(f"/proc/self/fd/{folder}/{self.socket.name}")
        except OSError:
            connection.close()
            raise
        finally:
            os.close(folder)
        return connection

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(STOP_LIMIT_S)

    def signal(self, number: signal.Signals) -> None:
        """Any other signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait_for_state(self, letter: str) -> None:
        """Until the kernel says so of it, as `T` of one that is stopped."""
        stat = Path(f"/proc/{self.pid}/stat")
        wait_until_sync(lambda: stat.read_text().rpartition(") ")[2][0] == letter, told=self.log)

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def log(self) -> str:
        return self._log.read_text()

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        with contextlib.suppress(OSError):
            self.connect().close()
            return True
        return False
