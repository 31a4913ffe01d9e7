"""Memory that the firmware takes of a board: compiled, from its slot, in the real MicroPython.

With words of 32 bits, as on the board, so that objects, names and buffers have the board's size.
What is measured includes the board's own files, never the stand-ins for its hardware.
"""

import hashlib
import json
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.link.devices.device_row import DeviceRow
from agent.link.devices.device_table import ROWS
from agent.link.frame import (
    ACK,
    CONFIG_BEGIN_FORMAT,
    CONFIG_OFFSET_FORMAT,
    HELLO,
    HELLO_FORMAT,
    METHOD_CONFIG_BEGIN,
    METHOD_CONFIG_COMMIT,
    METHOD_CONFIG_WRITE,
    METHOD_REFLEX,
    METHOD_SUBSCRIBE,
    METHOD_UPDATE,
    REQUEST,
    REQUEST_FORMAT,
    RULE_FORMAT,
    SUBSCRIBE_FORMAT,
    SUBSCRIBE_PERIODIC,
    Frame,
    encode,
)
from firmware.host import image, interpreter
from firmware.host.bundle import FIRMWARE, BundledFile, board_file, bundle, lay_out
from firmware.host.compiler import compiled, for_board

# Of the 92 KB of an STM32F411
BAR_BYTES = 45_000
# More than a board has, so that every moment is reached and measured
HEAP = "200k"
# The moments, in their order: the interpreter alone, with the stand-ins for the hardware, and then
# the firmware from its first pass on, each with what the ones before have loaded
BARE = "bare"
START = "start"
BOOT = "boot"
EVENTS = "events"
CONFIGURED = "configured"
REFLEXES = "reflexes"
UPDATE = "update"
_STAND_INS = FIRMWARE / "simulator" / "bare"
_NONCE = 1
_CREDIT = 64
# It takes a second
_LIMIT_S = 60.0


class NotMeasured(Exception):
    """The firmware did not run to its end, or cannot run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Memory that the interpreter uses and has left at one moment of its run."""

    taken: int
    free: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One board's figures, by the moment."""

    board: str
    moments: dict[str, Taken]

    def firmware_bytes(self, moment: str) -> int:
        """Return the firmware's own share: all but the interpreter and the stand-ins."""
        return self.moments[moment].taken - self.moments[START].taken


def measure(board: str) -> Measured:
    """Run the firmware of that board through all the moments.

    Raises:
        NotMeasured: the interpreter has no native code here, or the firmware failed.
        NoInterpreter: there is no MicroPython.
    """
    command = interpreter.find()
    native = _architecture(command)
    files = for_board(bundle(board), native)
    with tempfile.TemporaryDirectory(prefix="barnacle-ram-") as name:
        folder = Path(name)
        lay_out(image.installed_of(board, files), folder)
        stand_ins = [*_STAND_INS.glob("*.py"), FIRMWARE / "simulator" / "stm.py"]
        parts = [BundledFile(path.name, path.read_bytes()) for path in stand_ins]
        lay_out(
            [
                BundledFile(part.target.replace(".py", ".mpy"), compiled(part, native))
                for part in parts
            ],
            folder,
        )
        (folder / "steps").write_text("\n".join([*_steps(board), "end"]) + "\n")
        return Measured(board, _run(command, folder))


def _architecture(command: list[str]) -> str:
    if not interpreter.has_words_of_32_bits(command):
        raise NotMeasured("this MicroPython has words of 64 bits, and native code for none here")
    return interpreter.architecture(command)


def _run(command: list[str], folder: Path) -> dict[str, Taken]:
    done = subprocess.run(  # noqa: S603  - our firmware in the person's interpreter
        [*command, "-X", f"heapsize={HEAP}", "-c", "import ram; ram.main()"],
        cwd=folder,
        env={"MICROPYPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    found = {}
    for line in done.stdout.splitlines():
        moment, taken, free = line.split()
        found[moment] = Taken(int(taken), int(free))
    if UPDATE not in found:
        raise NotMeasured(f"after {', '.join(found)}: {done.stderr.strip()[-500:]}")
    return found


def _steps(board: str) -> Iterator[str]:
    """Yield the input of each pass of the firmware, and the points of measurement."""
    pi = _Pi()
    yield f"={BOOT}"
    yield pi.hello()
    yield from pi.call(
        METHOD_SUBSCRIBE,
        struct.pack(SUBSCRIBE_FORMAT, 0, 0, SUBSCRIBE_PERIODIC, 1000, 0, 0, 0, 0),
    )
    yield f"={EVENTS}"
    text = _with_largest_driver(board)
    digest = hashlib.sha256(text).digest()[:8]
    yield from pi.call(METHOD_CONFIG_BEGIN, struct.pack(CONFIG_BEGIN_FORMAT, len(text), digest))
    yield from pi.call(METHOD_CONFIG_WRITE, struct.pack(CONFIG_OFFSET_FORMAT, 0) + text)
    yield from pi.call(METHOD_CONFIG_COMMIT, digest)
    yield f"={CONFIGURED}"
    pins = board_file(board).PINS
    output = next(at for at, row in enumerate(pins) if "out" in row["can"])
    measuring = next(at for at, row in enumerate(pins) if "adc" in row["can"])
    # Measured here is 0: it never holds, so that an update may begin beside it
    condition = (measuring, 1, 300, 0)
    fields = (1, 1, output, 1, 1000, 60, 0, *condition, 0, 0, 0, 0, 4, b"test")
    yield from pi.call(METHOD_REFLEX, b"\2\xff" + struct.pack(RULE_FORMAT, *fields))
    yield f"={REFLEXES}"
    # State, and then the beginning of a large one: its slot is erased in the next passes
    begin = b"\1" + struct.pack("<I", 50_000) + bytes(32)
    yield from pi.call(METHOD_UPDATE, begin)
    yield from pi.call(METHOD_UPDATE, begin)
    yield f"={UPDATE}"


def largest_driver() -> DeviceRow:
    """Return the kind whose driver has the most to load."""
    return max((row for row in ROWS if row.has_driver), key=_driver_bytes)


def _driver_bytes(row: DeviceRow) -> int:
    return len((FIRMWARE / "node" / "devices" / f"{row.kind}.py").read_bytes())


def _with_largest_driver(board: str) -> bytes:
    # The last pins: a reflex has the first output, and a first voltage
    row = largest_driver()
    uses = board_file(board).USABLE
    pins = reversed([pin for pin in uses if row.use in uses[pin].split()])
    entry = {"kind": row.kind, "name": "air", "pin": next(pins)}
    entry |= {line.name: next(pins) for line in row.lines}
    return json.dumps({"pins": [entry], "v": 1}, separators=(",", ":")).encode()


class _Pi:
    """The other end of the link, which knows beforehand what it will be told."""

    def __init__(self) -> None:
        self._calls = 0

    def hello(self) -> str:
        return encode(Frame(HELLO, 0, 0, _CREDIT, struct.pack(HELLO_FORMAT, 1, 1, _NONCE))).hex()

    def call(self, method: int, arguments: bytes) -> Iterator[str]:
        """The frames of a call, and a few passes in which it is worked on."""
        number = self._calls
        self._calls += 1
        payload = struct.pack(REQUEST_FORMAT, method, number, 1000) + arguments
        yield encode(Frame(REQUEST, number, number, _CREDIT, payload), _NONCE).hex()
        yield ""
        yield encode(Frame(ACK, 0, self._calls, _CREDIT), _NONCE).hex()
        yield from [""] * 3
