"""Wires between two simulated boards: what one drives, the other one's inputs see."""

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.fakes.board_sim import BoardSim

# A real wire takes no time; this one is looked at so often
_LOOK_S = 0.001


class BoardCable:
    """Copies outputs to inputs in a thread, from `with` to its end.

    Args:
        pairs: input of `target` for each output of `source`.
        inverted: outputs whose logical value is the opposite of that at the far end.
    """

    def __init__(
        self,
        source: BoardSim,
        target: BoardSim,
        pairs: Mapping[str, str],
        inverted: frozenset[str] = frozenset(),
    ) -> None:
        self._record = Path(source.record_path)
        self._target = target
        self._pairs = pairs
        self._inverted = inverted
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._carry, daemon=True)

    def __enter__(self) -> Self:
        # Outputs are at their safe values now
        for name in self._pairs:
            self._pass_on({"event": "pin", "name": name, "value": 0})
        self._seen_bytes = self._record.stat().st_size
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _carry(self) -> None:
        with self._record.open() as record:
            record.seek(self._seen_bytes)
            line = ""
            while not self._is_over.wait(_LOOK_S):
                while more := record.readline():
                    line += more
                    if line.endswith("\n"):
                        self._pass_on(json.loads(line))
                        line = ""

    def _pass_on(self, event: dict[str, object]) -> None:
        name = event.get("name")
        if event["event"] == "pin" and isinstance(name, str) and name in self._pairs:
            value = bool(event["value"]) ^ (name in self._inverted)
            self._target.set(**{self._pairs[name]: int(value)})
