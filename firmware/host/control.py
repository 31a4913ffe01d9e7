"""The way to the simulated world while it runs: one JSON object per line, each with its answer."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Self

# The world answers in one pass of the firmware; a busy machine may need longer
ANSWER_LIMIT_S = 5.0
# The largest order that makes sense sets every pin
LINE_LIMIT_BYTES = 4096


class ControlLine:
    """Orders to the interpreter and its answers, over the socket that it has as standard input."""

    def __init__(self) -> None:
        self._orders = socket.socket(socket.AF_UNIX)
        self._lines = self._orders.makefile("rb")
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._orders.close()

    @contextlib.contextmanager
    def replaced(self, orders: socket.socket) -> Iterator[Callable[[float], bytes]]:
        """Talk to an interpreter that has just been started; yields what reads its first words."""
        with self._one_at_a_time:
            self.__exit__()
            self._orders, self._lines = orders, orders.makefile("rb")
            yield self.answer

    def order(self, order: Mapping[str, object]) -> bytes:
        """Hand over one order; the answer is a line, empty when the board is gone."""
        with self._one_at_a_time:
            try:
                self._orders.sendall(json.dumps(order).encode() + b"\n")
            except OSError:
                return b""
            return self.answer(ANSWER_LIMIT_S)

    def answer(self, limit_s: float) -> bytes:
        """The next line that the interpreter says; empty when it says none."""
        self._orders.settimeout(limit_s)
        try:
            return self._lines.readline()
        except OSError:
            return b""

    @contextlib.contextmanager
    def served_at(self, path: Path) -> Iterator[None]:
        """Take orders at a Unix socket while the context lasts."""
        if path.is_socket():
            path.unlink()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
                listener.shutdown(socket.SHUT_RDWR)  # ends the thread that accepts

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _address = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(client,), daemon=True).start()

    def _talk(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, client.makefile("rwb") as lines:
            while line := lines.readline(LINE_LIMIT_BYTES):
                answer = self._answer(line)
                if not answer:
                    # A board that was reset in the middle of it
                    return
                lines.write(answer)
                lines.flush()

    def _answer(self, line: bytes) -> bytes:
        try:
            order = json.loads(line)
        except ValueError:
            return b'{"error": "an order is one JSON object in one line"}\n'
        if not isinstance(order, dict):
            return b'{"error": "an order is a JSON object"}\n'
        return self.order(order)
