"""The receiving end of a service's news, as systemd has it: a datagram socket."""

import contextlib
import socket
from pathlib import Path
from typing import Self

from tests.waits import wait_until_sync


class ServiceManager:
    """Hears everything; `environ` is what it gives to its service."""

    def __init__(self, address: Path | str, watchdog_s: float | None = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        text = str(address)
        self._socket.bind(f"\0{text[1:]}" if text.startswith("@") else text)
        self.environ = {"NOTIFY_SOCKET": text}
        if watchdog_s is not None:
            self.environ["WATCHDOG_USEC"] = str(int(watchdog_s * 1_000_000))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def news(self) -> list[str]:
        """Every assignment that has come by now."""
        heard = []
        with contextlib.suppress(BlockingIOError):
            while True:
                heard += self._socket.recv(65536, socket.MSG_DONTWAIT).decode().split("\n")
        return heard

    def wait_for(self, assignment: str) -> list[str]:
        """Return everything up to one that begins so."""
        heard: list[str] = []

        def has_come() -> bool:
            heard.extend(self.news())
            return any(one.startswith(assignment) for one in heard)

        wait_until_sync(has_come, told=lambda: heard)
        return heard
