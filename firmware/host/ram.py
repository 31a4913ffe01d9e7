"""Memory that the firmware takes of a board: compiled, from its slot, in the real MicroPython.

With words of 32 bits, as on the board, so that objects, names and buffers have the board's size.
What is measured includes the board's own files, never the stand-ins for its hardware. Where the
firmware is frozen in, its code runs where it lies and its names are there before: both are put
into the interpreter's memory before anything is counted.
"""

import hashlib
import itertools
import json
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.blank.board_state import SlotPlace
from agent.link.devices.device_row import DeviceRow
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
from firmware.host import code_in_flash, image, interpreter
from firmware.host.board_source import kinds_of
from firmware.host.bundle import FIRMWARE, BundledFile, board_file, bundle, lay_out
from firmware.host.compiler import compiled, for_board
from firmware.host.parts import BLOCK_BYTES, PARTS
from firmware.host.shrink import shrunk

# Of the 92 KB of an STM32F411
BAR_BYTES = 45_000
# More than a board has, so that every moment is reached and measured
_ROOMY_BYTES = 204_800
_PROGRAM = "import ram; ram.main()"
_FROZEN_PROGRAM = "import ram, rom; ram.main(rom.put_in)"
# And beside it what is in flash of a board that has the firmware frozen in
_FROZEN_ROOMY_BYTES = 409_600
# Of MicroPython's heap that is what is left for objects: the rest says which block is whose
_FOR_OBJECTS = 0.9768
_BLOCK_BYTES = 16
# The moments, in their order: the interpreter alone, with the stand-ins for the hardware, and then
# the firmware from its first pass on, each with what the ones before have loaded
BARE = "bare"
START = "start"
BOOT = "boot"
EVENTS = "events"
PINS = "pins"
REFLEXES = "reflexes"
DRIVER = "driver"
UPDATE = "update"
# As many entries and rules as a board of any size has to carry
PINS_CONFIGURED = 16
RULES = 3
# A frame has no room for more of a configuration
_PIECE_BYTES = 200
# In one heap it may be a few objects more than in another
_ALIKE = 0.98
_LARGEST = re.compile(r"max free sz: (\d+)")
_MOMENTS = frozenset({BARE, START, BOOT, EVENTS, PINS, REFLEXES, DRIVER, UPDATE})
# The masks of the wire format have room for no more, the board's own included
_PINS_MOST = 30
_STAND_INS = FIRMWARE / "simulator" / "bare"
_NONCE = 1
_CREDIT = 64
# It takes a second
_LIMIT_S = 60.0


class NotMeasured(Exception):
    """The firmware did not run to its end, or cannot run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Memory that the interpreter uses at one moment of its run, and the largest free piece."""

    taken: int
    piece: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One board's figures, by the moment; `tight` are those in a heap of the board's size."""

    board: str
    moments: dict[str, Taken]
    tight: dict[str, Taken]
    is_frozen: bool = False

    def firmware_bytes(self, moment: str) -> int:
        """Return the firmware's own share: all but the interpreter and the stand-ins."""
        return self.moments[moment].taken - self.moments[START].taken

    def piece_bytes(self, moment: str) -> int:
        """Return the largest free piece on the board itself, 0 when it has no room for all."""
        there = self.tight.get(moment)
        whole = there is not None and there.taken >= self.moments[moment].taken * _ALIKE
        return there.piece if there is not None and whole else 0


def measure(board: str, *, is_frozen: bool = False) -> Measured:
    """Run the firmware of that board through all the moments.

    Args:
        board: its name.
        is_frozen: its MicroPython has the firmware in itself.

    Raises:
        NotMeasured: the interpreter has no native code here, or the firmware failed.
        NoInterpreter: there is no MicroPython.
    """
    command = interpreter.find()
    native = _architecture(command)
    sources = bundle(board, is_frozen=is_frozen)
    files = for_board(sources, native)
    with tempfile.TemporaryDirectory(prefix="barnacle-ram-") as name:
        folder = Path(name)
        if is_frozen:
            code_in_flash.lay_out_frozen(files, sources, folder)
        else:
            lay_out(image.installed_of(board, files, native), folder)
        _lay_out_stand_ins(sources, native, folder)
        last = REFLEXES if is_frozen else UPDATE
        steps = itertools.takewhile(lambda step: step != f"={last}", _steps(board))
        (folder / "steps").write_text("\n".join([*steps, f"={last}", "end"]) + "\n")
        flash = _flash(board, b"" if is_frozen else (folder / "slot_a").read_bytes())
        program = _FROZEN_PROGRAM if is_frozen else _PROGRAM
        run = partial(_run, command, program, folder, flash)
        found = run(_FROZEN_ROOMY_BYTES if is_frozen else _ROOMY_BYTES)
        if last not in found:
            raise NotMeasured(f"it went no further than {', '.join(found)}")
        size = PARTS[board].heap_bytes + found[START].taken - found[BARE].taken
        tight = run(round(size / _FOR_OBJECTS))
        return Measured(board, found, tight, is_frozen)


def _lay_out_stand_ins(sources: list[BundledFile], native: str, folder: Path) -> None:
    stand_ins = [*_STAND_INS.glob("*.py"), FIRMWARE / "simulator" / "stm.py"]
    # Their names are no names of the board's, and would fill its table of names before it does
    parts = [BundledFile(path.name, path.read_bytes()) for path in stand_ins]
    parts = shrunk([*parts, *sources])[: len(parts)]
    lay_out(
        [BundledFile(part.target.replace(".py", ".mpy"), compiled(part, native)) for part in parts],
        folder,
    )


def _architecture(command: list[str]) -> str:
    if not interpreter.has_words_of_32_bits(command):
        raise NotMeasured("this MicroPython has words of 64 bits, and native code for none here")
    return interpreter.architecture(command)


def _flash(board: str, slot: bytes) -> bytes:
    """Return the blocks of a new board, divided as `firmware/prompt/small_fat.py` does it."""
    part = PARTS[board]
    kept, apart = (part.blocks - 32, 0) if part.slots is SlotPlace.FILES else (32, 32)
    boot = bytearray(BLOCK_BYTES)
    boot[3:11] = b"BARNACLE"
    struct.pack_into("<HHH", boot, 62, kept, apart, part.slots is SlotPlace.WORDS)
    blocks = boot.ljust(part.blocks * BLOCK_BYTES, b"\0")
    if part.slots is SlotPlace.BLOCKS:
        at = (kept + 2 * apart) * BLOCK_BYTES
        blocks[at : at + len(slot)] = slot
    return bytes(blocks)


def _run(
    command: list[str], program: str, folder: Path, flash: bytes, heap_bytes: int
) -> dict[str, Taken]:
    """Return the figures of every moment that was reached in such a heap."""
    (folder / "flash.bin").write_bytes(flash)
    done = subprocess.run(  # noqa: S603  - our firmware in the person's interpreter
        [*command, "-X", f"heapsize={heap_bytes}", "-c", program],
        cwd=folder,
        env={"MICROPYPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=_LIMIT_S,
        check=False,
    )
    found = {}
    piece = 0
    for line in done.stdout.splitlines():
        largest = _LARGEST.search(line)
        words = line.split()
        if largest:
            piece = int(largest[1]) * _BLOCK_BYTES
        elif words and words[0] in _MOMENTS:
            found[words[0]] = Taken(int(words[1]), piece)
    if not found:
        raise NotMeasured(done.stderr.strip()[-500:])
    return found


def _steps(board: str) -> Iterator[str]:
    """Yield the input of each pass of the firmware, and the points of measurement."""
    pi = _Pi()
    yield f"={BOOT}"
    yield pi.hello()
    yield from _subscribed(pi)
    yield f"={EVENTS}"
    yield from pi.configure(configuration(board))
    yield from _subscribed(pi)
    yield f"={PINS}"
    for number in range(RULES):
        yield from pi.call(METHOD_REFLEX, b"\2\xff" + _rule(board, number))
    yield f"={REFLEXES}"
    yield from pi.configure(configuration(board, largest_driver(board)))
    yield from _subscribed(pi)
    yield f"={DRIVER}"
    # State, and then the beginning of a large one: its slot is erased in the next passes
    begin = b"\1" + struct.pack("<I", 50_000) + bytes(32)
    yield from pi.call(METHOD_UPDATE, begin)
    yield from pi.call(METHOD_UPDATE, begin)
    yield f"={UPDATE}"


def _subscribed(pi: "_Pi") -> Iterator[str]:
    # A new configuration ends subscriptions
    fields = (0, 0, SUBSCRIBE_PERIODIC, 1000, 0, 0, 0, 0)
    return pi.call(METHOD_SUBSCRIBE, struct.pack(SUBSCRIBE_FORMAT, *fields))


def _rule(board: str, number: int) -> bytes:
    """Return a rule about pins that the board's own file has, and that no entry takes."""
    rows = board_file(board).PINS
    free = _kept_pins(board)
    output = next(at for at, row in enumerate(rows) if "out" in row["can"] and row["pin"] in free)
    # Measured here is 0, and read too: it never holds, so that an update may begin beside it
    seen = next(at for at, row in enumerate(rows) if row["pin"] in free and at != output)
    condition = (seen, 1, 300, 0)
    name = f"rule {number}".encode()
    fields = (1, 1, output, 1, 1000, 60, 0, *condition, 0, 0, 0, 0, len(name), name)
    return struct.pack(RULE_FORMAT, *fields)


def largest_driver(board: str) -> DeviceRow:
    """Return the kind whose driver has the most to load, of those that the board has."""
    kinds = kinds_of(board_file(board))
    return max((row for row in kinds if row.has_driver), key=_driver_bytes)


def _driver_bytes(row: DeviceRow) -> int:
    return len((FIRMWARE / "node" / "devices" / f"{row.kind}.py").read_bytes())


def _kept_pins(board: str) -> frozenset[str]:
    """Return three pins of the board's own, which stay what they are: one can be driven."""
    rows = board_file(board).PINS
    driven = next(row for row in rows if "out" in row["can"])
    others = [row["pin"] for row in rows if row is not driven]
    return frozenset({driven["pin"], *others[:2]})


def configuration(board: str, driven: DeviceRow | None = None) -> bytes:
    """Return a configuration of as many pins, half of them outputs with a limit."""
    part = board_file(board)
    kept = _kept_pins(board)
    free = [pin for pin in part.USABLE if pin not in kept]
    entries = []
    if driven is not None:
        pins = [pin for pin in reversed(free) if driven.use in part.USABLE[pin].split()]
        entry = {"kind": driven.kind, "name": "air", "pin": pins[0]}
        entry |= {line.name: pin for line, pin in zip(driven.lines, pins[1:], strict=False)}
        entries.append(entry)
        free = [pin for pin in free if pin not in entry.values()]
    for number, pin in enumerate(free[: min(PINS_CONFIGURED, _PINS_MOST - len(part.PINS))]):
        if len(entries) < PINS_CONFIGURED:
            entries.append(_output(number, pin) if number % 2 else _input(number, pin))
    return json.dumps({"pins": entries, "v": 1}, separators=(",", ":")).encode()


def _output(number: int, pin: str) -> dict[str, object]:
    return {"kind": "output", "max_on_ms": 20_000, "name": f"pump_{number}", "pin": pin}


def _input(number: int, pin: str) -> dict[str, object]:
    return {"kind": "input", "name": f"switch_{number}", "pin": pin, "pull": "up"}


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

    def configure(self, text: bytes) -> Iterator[str]:
        """The frames of a new configuration."""
        digest = hashlib.sha256(text).digest()[:8]
        yield from self.call(
            METHOD_CONFIG_BEGIN, struct.pack(CONFIG_BEGIN_FORMAT, len(text), digest)
        )
        for at in range(0, len(text), _PIECE_BYTES):
            piece = struct.pack(CONFIG_OFFSET_FORMAT, at) + text[at : at + _PIECE_BYTES]
            yield from self.call(METHOD_CONFIG_WRITE, piece)
        yield from self.call(METHOD_CONFIG_COMMIT, digest)
