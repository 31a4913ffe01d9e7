"""A simulated board as a process: a pseudo-terminal with the firmware behind it.

Killed, it is a cable that was pulled: the interpreter ends by itself and the terminal is gone.
Asked to stop (SIGTERM), it cuts the link and waits until the firmware has made its outputs safe,
so that the record is complete.
"""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.link.devices.device_table import ROWS
from firmware.host import interpreter
from firmware.host.build_cache import cached
from firmware.host.bundle import FIRMWARE, bundle, lay_out
from firmware.host.control import ControlLine
from firmware.host.parts import PARTS, Part
from firmware.host.scratch import scratch_folder
from firmware.host.shrink import shrunk

START = FIRMWARE / "simulator" / "start.py"
# The simulated board has an F411's 92 KB in words of 64 bits, which is 184 KB, 56 KB for the world
# around it, and 80 KB for what no such board has: every driver and its counterpart, one after the
# other, since what was loaded once stays
HEAP = "320k"
# Another board has its own heap: firmware/simulator/stm32.py takes the rest of this away
PART_HEAP = "2m"
SIMULATED = "simulated"
# Frozen code is in flash; played, it is loaded, with all drivers that there are
FROZEN_BYTES = 48 * 1024
# The longest lease and the passes of the loop around it
STOP_LIMIT_S = 11.0
# Soon enough for whoever waits for the end, rare enough to cost nothing
POLL_S = 0.05
# The status with which the interpreter asks to be started again (firmware/simulator/wires.py)
RESTARTS = 5
# And the one of a board that its watchdog has reset, with the cause as MicroPython counts it
BITTEN, _CAUSE_WATCHDOG = 6, 3
# Starting takes a tenth of this on a slow Pi
READY_LIMIT_S = 10.0

DEFAULT_WORLD: dict[str, object] = {
    "values": {
        "temperature": {"value": 24.5, "drift_per_s": 0.01, "lowest": -40, "highest": 85},
        "a0": {"value": 1.62, "drift_per_s": -0.001, "lowest": 0, "highest": 3.3},
        "light": 2.05,
        "air_temperature": {"value": 21.5, "drift_per_s": 0.005, "lowest": -40, "highest": 85},
        "humidity": {"value": 45, "drift_per_s": -0.01, "lowest": 0, "highest": 100},
        "pressure": 1013.25,
        "water_temperature": 18.25,
    },
    # Found only by a configuration that has them at these pins
    "devices": [{"kind": one.kind, **one.settings} for row in ROWS for one in row.counterparts],
    "script": [],
}
# What devices measure where the world does not say how it is
ORDINARY = {name: value for row in ROWS for name, value in row.quantities.items()}


# What every board has
_PART_WORLD: dict[str, object] = {"values": {"temperature": 24.5}}


class SimulationFailed(Exception):
    """The board did not come up or did not stop; the text says why."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Connections of a simulated board to this computer; None leaves one out."""

    link: Path | None = None
    record: Path | None = None
    world: Path | None = None
    control: Path | None = None
    flash: Path | None = None
    board: str = SIMULATED
    # How long its flash takes: "none", "typical" or "worst"
    flash_times: str = "none"
    # The firmware is a part of its MicroPython
    is_frozen: bool = False


def run(setup: Setup, announce: Callable[[str], None]) -> int:
    """Play the board until SIGTERM or SIGINT; `announce` gets the path once it listens.

    Raises:
        SimulationFailed: it could not be started, or its outputs did not become safe.
        NoInterpreter: there is no MicroPython.
    """
    # A plain list: an Event's lock could be held by the very code that the signal interrupts
    asked_to_stop: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: asked_to_stop.append(number))
    with contextlib.ExitStack() as stack:
        machine = _Machine(setup, stack)
        path, control = machine.terminal, machine.control
        if setup.control is not None:
            stack.enter_context(control.served_at(setup.control))
        if setup.link is not None:
            _point(setup.link, path)
            stack.callback(setup.link.unlink, missing_ok=True)
        announce(str(setup.link or path))
        while machine.is_on():
            if asked_to_stop:
                control.order({"stop": True})
                return _await_end(machine.process)
            time.sleep(POLL_S)
        machine.note_end()
    return 1


class _Machine:
    """The hardware that outlives a reset: terminal, flash, control line, files."""

    def __init__(self, setup: Setup, stack: contextlib.ExitStack) -> None:
        self._setup = setup
        self._command = _interpreter_for(setup.board)
        self._heap = HEAP if setup.board == SIMULATED else PART_HEAP
        default = DEFAULT_WORLD if setup.board == SIMULATED else _PART_WORLD
        world = _world_text(setup.world, default)
        self._near, far = pty.openpty()
        stack.callback(os.close, self._near)
        # The far end stays open here, or the near one reports a hang-up while nobody listens
        stack.callback(os.close, far)
        self.terminal = os.ttyname(far)
        tty.setraw(far)
        os.set_blocking(self._near, False)
        self._folder = stack.enter_context(scratch_folder())
        self._lay_out(setup.board, is_frozen=setup.is_frozen)
        part = _part_settings(PARTS.get(setup.board), setup)
        (self._folder / "part.json").write_text(json.dumps(part))
        own = START.parent / "raw" if setup.board == SIMULATED else FIRMWARE / "prompt"
        self._path = ":".join(map(str, [self._folder, START.parent, own]))
        (self._folder / "world.json").write_text(world)
        # Grows with every start, as a board's does
        self._boot_count = int(time.time())
        self.control = stack.enter_context(ControlLine())
        stack.callback(self._kill)
        self.process = self._boot()

    def is_on(self) -> bool:
        """Say if it runs; start it again after a reset."""
        if self.process.poll() == RESTARTS:
            self._boot_count += 1
            self.process = self._boot()
        elif self.process.poll() == BITTEN:
            # Nothing has driven its pins since
            self._note({"event": "watchdog"})
            self._boot_count += 1
            self.process = self._boot(_CAUSE_WATCHDOG)
        return self.process.poll() in {None, RESTARTS, BITTEN}

    def note_end(self) -> None:
        """Record that it was killed: its last words are not how its outputs ended."""
        if self.process.returncode < 0:
            self._note({"event": "killed", "signal": -self.process.returncode})

    def _note(self, event: dict[str, object]) -> None:
        if self._setup.record is not None:
            times = {"ms": time.monotonic_ns() // 1_000_000, "wall_s": time.time()}
            with self._setup.record.open("a", encoding="utf-8") as record:
                record.write(json.dumps(event | times) + "\n")

    def _lay_out(self, board: str, *, is_frozen: bool) -> None:
        """Put the files of the board where the interpreter finds them."""
        files = bundle(board, is_frozen=is_frozen)
        if board == SIMULATED:
            lay_out(cached("shrunk", files, shrunk), self._folder)
            return
        try:
            # A computer that only plays the simulated board need not have the compiler
            from firmware.host import image  # noqa: PLC0415
            from firmware.host.compiler import for_board  # noqa: PLC0415
        except ImportError as err:
            raise SimulationFailed(f"{err.name} is missing: scripts/setup installs it") from err
        native = interpreter.architecture(self._command)
        there = for_board(files, native)
        if is_frozen:
            # Beside the board's file system, which has nothing of it
            (self._folder / "installed").mkdir()
            lay_out(there, self._folder)
            return
        lay_out([file for file in files if file.target == "board.py"], self._folder)
        lay_out(image.installed_of(board, there, native), self._folder / "installed")

    def _boot(self, cause: int = 0) -> subprocess.Popen[bytes]:
        orders, taken = socket.socketpair()
        taken.settimeout(0)
        record = self._setup.record or os.devnull
        flash = (self._setup.flash or self._folder / "flash.bin").absolute()
        arguments = [self._near, record, self._boot_count, self._folder, self._setup.link or ""]
        with self.control.replaced(orders) as first_words, taken:
            process = subprocess.Popen(  # noqa: S603  - our firmware in the person's interpreter
                [
                    *(*self._command, "-X", f"heapsize={self._heap}", str(START)),
                    *(*map(str, arguments), self.terminal, str(flash), str(cause)),
                ],
                stdin=taken.fileno(),
                stdout=subprocess.DEVNULL,
                pass_fds=(self._near,),
                env={**os.environ, "MICROPYPATH": self._path},
                start_new_session=True,  # a Ctrl-C for us is not one for the board
            )
            taken.close()
            # One on trial may reset before it listens
            said = first_words(READY_LIMIT_S)
        if said or process.wait(READY_LIMIT_S) not in {RESTARTS, BITTEN}:
            try:
                _judge(said)
            except SimulationFailed:
                process.kill()
                process.wait()
                raise
        return process

    def _kill(self) -> None:
        if hasattr(self, "process"):
            self.process.kill()
            self.process.wait()


def _interpreter_for(board: str) -> list[str]:
    """Return the command of the interpreter.

    Raises:
        SimulationFailed: it cannot have the memory of that board.
    """
    command = interpreter.find()
    if board != SIMULATED and not interpreter.has_words_of_32_bits(command):
        raise SimulationFailed(
            f"--board {board} needs a MicroPython with words of 32 bits, as the board has them; "
            "scripts/micropython installs one where the processor runs it"
        )
    return command


def _part_settings(part: Part | None, setup: Setup) -> dict[str, object] | None:
    """Return the part as firmware/simulator reads it; None for the simulated board."""
    if part is None:
        return None
    named = {"typical": part.typical, "worst": part.worst}.get(setup.flash_times)
    told = part.told(named, is_frozen=setup.is_frozen)
    # Played, what is frozen in is loaded
    return told | {"heap_bytes": part.heap_bytes + (FROZEN_BYTES if setup.is_frozen else 0)}


def _judge(first_words: bytes) -> None:
    said = json.loads(first_words or b"{}")
    if "error" in said:
        raise SimulationFailed(f"the world makes no sense: {said['error']}")
    if "ready" not in said:
        raise SimulationFailed("the firmware did not start")


def _await_end(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise SimulationFailed("the outputs did not become safe in time") from None


def _world_text(path: Path | None, default: dict[str, object]) -> str:
    if path is None:
        return json.dumps({**default, "ordinary": ORDINARY})
    try:
        world = json.loads(path.read_text(encoding="utf-8"))
    except OSError as err:
        raise SimulationFailed(f"{path}: {err.strerror}") from err
    except ValueError as err:
        raise SimulationFailed(f"{path} is not JSON: {err}") from err
    if not isinstance(world, dict):
        raise SimulationFailed(f"{path}: a world is an object with 'values' and 'script'")
    return json.dumps({**world, "ordinary": ORDINARY})


def _point(link: Path, path: str) -> None:
    """Make `link` lead to `path`, in one step and never over a real file."""
    if link.exists() and not link.is_symlink():
        raise SimulationFailed(f"{link} exists and is no link; remove it or name another one")
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.symlink_to(path)
    fresh.replace(link)
