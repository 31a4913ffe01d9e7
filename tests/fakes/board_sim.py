"""The simulated board as a process: the real firmware in a real MicroPython."""

import contextlib
import json
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from firmware.host import interpreter
from firmware.host.scratch import remove_abandoned

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "scripts" / "board-sim"
# It takes a tenth of a second; a busy machine may need longer
START_LIMIT_S = 15.0
# The longest lease, and then some
STOP_LIMIT_S = 15.0
CONTROL_LIMIT_S = 5.0


def unavailable_reason() -> str | None:
    """Why no board can be simulated here, or None when one can."""
    try:
        interpreter.find()
    except interpreter.NoInterpreter as err:
        return str(err)
    return None


class BoardSim:
    """A board at `port`; it may be killed (the cable is pulled) and started again.

    Args:
        folder: where the port's link, the record and the control socket are made.
        world: what the inputs see, as in `scripts/board-sim --help`.
        flash: where its flash is kept over starts; without one it is new at every start.
        board: which one it plays; the simulated one, unless it is named.
        flash_times: how long its flash takes, as in `scripts/board-sim --help`.
        is_frozen: its MicroPython has the firmware in itself.
    """

    def __init__(
        self,
        folder: Path,
        world: Mapping[str, Any] | None = None,
        flash: Path | None = None,
        board: str = "",
        flash_times: str = "none",
        *,
        is_frozen: bool = False,
    ) -> None:
        self.port = folder / "board"
        self.record_path = folder / "board.jsonl"
        self._control = folder / "board.ctl"
        self._log = folder / "board.log"
        self._arguments = ["--link", str(self.port), "--record", str(self.record_path)]
        self._arguments += ["--control", str(self._control)]
        if board:
            self._arguments += ["--board", board, "--flash-times", flash_times]
        self._arguments += ["--frozen"] if is_frozen else []
        if flash is not None:
            self._arguments += ["--flash", str(flash)]
        if world is not None:
            (folder / "world.json").write_text(json.dumps(world))
            self._arguments += ["--world", str(folder / "world.json")]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Plug it in; returns when the firmware listens."""
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [str(PROGRAM), *self._arguments], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        if said != str(self.port):
            status = self._process.wait(START_LIMIT_S)
            self._reap()
            raise RuntimeError(f"board-sim ended with {status}: {self._log.read_text()}")

    def kill(self) -> None:
        """Pull the cable: port and firmware are gone at once."""
        if self._process is not None:
            self._process.kill()
            self._reap()

    def stop(self) -> int:
        """Ask it to end; returns its status when its outputs are safe and the record complete."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        status = self._process.wait(STOP_LIMIT_S)
        self._reap()
        return status

    def record(self) -> list[dict[str, Any]]:
        """Everything the world saw so far, over all starts."""
        return [json.loads(line) for line in self.record_path.read_text().splitlines()]

    def changes(self, name: str) -> list[tuple[int, int]]:
        """Every change of that output: the logical value and when, in monotonic milliseconds."""
        return [
            (event["value"], event["ms"])
            for event in self.record()
            if event["event"] == "pin" and event["name"] == name
        ]

    def value(self, name: str) -> int:
        """The logical value that the output has now."""
        return self.changes(name)[-1][0]

    def order(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Change the world, or ask about it; orders are listed by `scripts/board-sim --help`."""
        with socket.socket(socket.AF_UNIX) as control, control.makefile("rwb") as lines:
            control.settimeout(CONTROL_LIMIT_S)
            control.connect(str(self._control))
            lines.write(json.dumps(order).encode() + b"\n")
            lines.flush()
            answer: dict[str, Any] = json.loads(lines.readline())
            return answer

    def set(self, **values: Any) -> None:
        """What the inputs see from now on: `set(button=1, temperature=31.5)`."""
        answer = self.order({"set": values})
        assert answer == {"ok": True}, answer

    def _reap(self) -> None:
        assert self._process is not None
        self._process.wait(STOP_LIMIT_S)
        # One that is killed cannot do it, and the next may be far away
        remove_abandoned(Path(tempfile.gettempdir()))
        with contextlib.suppress(OSError):
            assert self._process.stdout is not None
            self._process.stdout.close()
        self._process = None
