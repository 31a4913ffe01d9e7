"""State of a board at its prompt, asked before anything on it changes."""

import enum
from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from agent.errors import BarnacleError
from agent.link.update import FROZEN

# The oldest MicroPython that runs the firmware
OLDEST = (1, 24)

# The format of compiled files that MicroPython has read since 1.20
MPY_VERSION = 6
# What `scripts/bench-firmware` prints for a board with one configured driver (69 KB), and what
# judging another configuration takes beside it. An F411 has 92 KB, an F401 61 KB.
HEAP_LEAST_BYTES = 76_000
SLOTS = ("slot_a", "slot_b")
# What this firmware and older ones have put onto a board; main.py first, so that a board on which
# the rest is gone does nothing
OWN_FILES = (
    "main.py",
    "boot.py",
    *(
        f"{name}.{ending}"
        for name in ("frame", "board", "description", "slots")
        for ending in ("py", "mpy")
    ),
    *("raw_slots.mpy", "flash_words.mpy"),
    *("boot.py.new", "main.py.new", "slots.mpy.new", "raw_slots.mpy.new", "flash_words.mpy.new"),
    *SLOTS,
)
# MicroPython's own, on a board that is new
_FACTORY_FILES = ("README.txt", "pybcdc.inf")
# What the firmware keeps as files: a configuration and reflexes, each twice, and the emergency stop
KEPT_BLOCKS = 24
# Of a file system as firmware/prompt/small_fat.py makes it: its tables, and what is kept behind it
_TABLE_BLOCKS, _BEHIND_BLOCKS = 4, 32
# Where the slots are elsewhere: the file system of their programs, and each place of what is kept
FILES_BLOCKS = PLACE_BLOCKS = 32
OWN_FOLDERS = ("node/devices", "node")
# MicroPython's names for parts whose flash is erased in pages of 2 or 4 KB
_PAGED = ("STM32WB5", "STM32L4", "STM32G4")
# As many blocks only a flash chip has, which is erased in pages of 4 KB
_CHIP_BLOCKS = 4_096
# Two of these, behind the file system and what is kept
_TWO_SLOTS_BLOCKS = 2 * 160 + 96

# What a place of slots needs on the board, beside the programs that start them
_OF_WORDS, _OF_BLOCKS = "flash_words.mpy", "raw_slots.mpy"


class SlotPlace(enum.Enum):
    """Place of the versions of the firmware on a board; `firmware/slots.py` starts them."""

    # Files of the file system
    FILES = "files"
    # Blocks behind the file system, in pages of their own: slots_in_blocks.py
    BLOCKS = "blocks"
    # Sectors of an STM32F4 that no file system has: slots_in_words.py
    WORDS = "words"


# The smallest slots of firmware/slots_in_words.py, and of slots_in_blocks.py where it may be used
_SLOT_BYTES = {SlotPlace.WORDS: 61_440, SlotPlace.BLOCKS: 160 * 512}

# A slot counts by its number only when it would be started
QUESTION = f"""
import gc, json, os, sys
gc.collect()
status = os.statvfs(os.getcwd())
paths = list({OWN_FILES!r})
for folder in {OWN_FOLDERS!r}:
    try:
        paths += [folder + "/" + name for name in os.listdir(folder)]
    except OSError:
        pass
own = 0
for path in paths:
    try:
        own += -(-os.stat(path)[6] // status[0])
    except OSError:
        pass
foreign = [name for name in os.listdir() if name not in {(*OWN_FILES, *_FACTORY_FILES)!r}]
foreign = [name for name in foreign if name != "node" and not name.endswith(("_a.bin", "_b.bin"))]
try:
    import pyb
    flash_blocks = pyb.Flash(start=0).ioctl(4, 0)
    block = bytearray(512)
    pyb.Flash(start=0).readblocks(0, block)
    is_ours = block[3:11] == b"BARNACLE"
    is_laid_out = is_ours and block[62:66] == bytes(({FILES_BLOCKS}, 0, {PLACE_BLOCKS}, 0))
except (ImportError, AttributeError):
    flash_blocks = 0
    is_ours = is_laid_out = False
place = "files"
machine_name = getattr(sys.implementation, "_machine", "")
has_last = is_last_taken = False
try:
    if "STM32F4" in machine_name and flash_blocks in (128, 224):
        import machine, uctypes
        if bytes(uctypes.bytearray_at(0x08004000, 512)) == bytes(block):
            place = "words"
            has_last = machine.mem16[0x1FFF7A22] == 1024
        if has_last and not is_laid_out:
            for at in range(0x080E0000, 0x08100000, 512):
                if bytes(uctypes.bytearray_at(at, 512)) != bytes([255] * 512):
                    is_last_taken = True
                    break
    elif flash_blocks >= {_TWO_SLOTS_BLOCKS} and (
        flash_blocks >= {_CHIP_BLOCKS} or any(name in machine_name for name in {_PAGED!r})
    ):
        place = "blocks"
except (ImportError, AttributeError):
    pass
numbers = []
is_frozen = False
try:
    # Anew: the one of boot.py keeps little of itself
    sys.modules.pop("slots", None)
    import slots
    is_frozen = slots.running == {FROZEN}
    store = slots.open_store()
    for at in (0, 1):
        numbers.append(slots.header(store, at)[2] if slots.may_start(store, at) else 0)
except Exception:
    numbers = [0, 0]
print(json.dumps({{
    "version": sys.implementation.version[:2],
    "mpy": getattr(sys.implementation, "_mpy", 0) & 255,
    "heap_bytes": gc.mem_free() + gc.mem_alloc(),
    "block_bytes": status[0],
    "free_blocks": status[3],
    "own_blocks": own,
    "slot_numbers": numbers,
    "flash_blocks": flash_blocks,
    "foreign": foreign,
    "is_ours": is_ours,
    "is_frozen": is_frozen,
    "machine": getattr(sys.implementation, "_machine", ""),
    "is_laid_out": is_laid_out,
    "place": place,
    "has_second": has_last or place == "blocks",
    "is_last_taken": is_last_taken,
}}))
"""


class Unsuitable(BarnacleError):
    """The board cannot run this firmware as files; the text says why and what to do."""


class OnBoard(Protocol):
    """A file as it lies on a board."""

    @property
    def target(self) -> str: ...

    @property
    def content(self) -> bytes: ...


class FlashState(Struct, frozen=True):
    """A board's MicroPython, memory and file system.

    Args:
        own_blocks: the blocks that our own files take, which may be given back.
        slot_numbers: of each slot, 0 for one that would not be started.
        flash_blocks: the blocks under the file system, 0 where they cannot be reached.
        foreign: files that somebody else has put there.
        is_ours: the file system is one of firmware/prompt/small_fat.py.
        is_frozen: its MicroPython has a firmware of ours in itself.
        machine: the board and chip that its MicroPython was built for.
        place: where its slots are to be, beside files or as files.
        is_laid_out: its flash is divided as that place wants it.
        has_second: there is a second slot at that place.
        is_last_taken: the sector of the second slot has content of somebody else.
    """

    version: tuple[int, int]
    mpy: int
    heap_bytes: int
    block_bytes: int
    free_blocks: int
    own_blocks: int
    slot_numbers: tuple[int, int]
    flash_blocks: int = 0
    foreign: tuple[str, ...] = ()
    is_ours: bool = False
    is_frozen: bool = False
    machine: str = ""
    place: SlotPlace = SlotPlace.FILES
    is_laid_out: bool = False
    has_second: bool = False
    is_last_taken: bool = False

    def holds_beside(self, files: Sequence[OnBoard]) -> bool:
        """Return True when the files fit without giving back what is there."""
        return self._blocks(files) + self._kept_blocks <= self.free_blocks

    def holds(self, files: Sequence[OnBoard]) -> bool:
        """Return True when the files fit in the place of ours that are there."""
        return self._blocks(files) + self._kept_blocks <= self.free_blocks + self.own_blocks

    @property
    def _kept_blocks(self) -> int:
        return 0 if self.is_ours else KEPT_BLOCKS

    def next_slot(self) -> tuple[str, int]:
        """Return the slot that is not in use, and a number higher than any."""
        at = 1 if self.slot_numbers[0] >= max(1, self.slot_numbers[1]) else 0
        return SLOTS[at], max(self.slot_numbers) + 1

    def require_room(
        self, board: str, files: Sequence[OnBoard], *, is_beside: bool = False
    ) -> None:
        """Judge before anything is changed.

        Args:
            board: name of the board.
            files: its firmware.
            is_beside: the old programs that start a slot stay until the new ones are there.

        Raises:
            Unsuitable: too old, too little memory or too small.
        """
        if self.is_frozen:
            raise Unsuitable(
                "its MicroPython has the firmware frozen in, and files would not count: build a new"
                " one from the files of `scripts/flash --freeze` (firmware/README.md), or put"
                " MicroPython as it is distributed onto the board first"
            )
        if self.version < OLDEST or self.mpy != MPY_VERSION:
            raise Unsuitable(
                f"it runs MicroPython {self.version[0]}.{self.version[1]}: put"
                f" {OLDEST[0]}.{OLDEST[1]} or newer onto it (firmware/README.md)"
            )
        if self.heap_bytes < HEAP_LEAST_BYTES:
            raise Unsuitable(
                f"{board} has {self.heap_bytes:,} bytes of memory for Python, and the firmware"
                f" needs {HEAP_LEAST_BYTES:,} when it is copied as files: `scripts/flash --board"
                f" {board} --freeze FOLDER` makes what a MicroPython with the firmware frozen in is"
                " built from"
            )
        if place_of(files) is not self.place:
            raise Unsuitable(
                f"its flash is divided in another way than {board}'s usually is: use"
                f" `scripts/flash --board {board}` on a PC, which finds the place by itself"
            )
        if self.place is SlotPlace.FILES:
            self._require_files(files)
        else:
            self._require_slots(files, copies=1 + is_beside)

    def _require_slots(self, files: Sequence[OnBoard], copies: int) -> None:
        """Raise Unsuitable where slots beside the file system, or their programs, lack room."""
        if self.foreign and not self.is_laid_out:
            raise Unsuitable(
                f"its flash has to be divided anew, and would lose {', '.join(self.foreign)}:"
                " remove these first"
            )
        if max(len(file.content) for file in files) > _SLOT_BYTES[self.place]:
            raise Unsuitable(
                f"the firmware is larger than a slot of {_SLOT_BYTES[self.place]:,} bytes: freeze"
                " it (--freeze)"
            )
        if self.is_laid_out and self._lacks_room(files, copies):
            raise Unsuitable(
                "the programs that start the firmware have no room on it: remove"
                f" {', '.join(self.foreign) or 'files of your own'} first"
            )
        if self.is_last_taken:
            raise Unsuitable(
                "something is in the last 128 KB of its flash (from 0x080E0000), where a second"
                " version of the firmware belongs: erase the chip, or freeze the firmware"
                " (--freeze)"
            )

    def _require_files(self, files: Sequence[OnBoard]) -> None:
        """Raise Unsuitable where the files have no room in the file system."""
        if self.holds(files):
            return
        needed, there = self._blocks(files), self.free_blocks + self.own_blocks
        formatted = self.flash_blocks - _TABLE_BLOCKS - _BEHIND_BLOCKS
        if self.foreign or formatted < needed:
            own = f" (there are {', '.join(self.foreign)})" if self.foreign else ""
            raise Unsuitable(
                f"the firmware takes {needed} and {KEPT_BLOCKS} blocks of {self.block_bytes}"
                f" bytes, and {there} are there: remove files of your own from it{own}, or freeze"
                " the firmware (--freeze)"
            )

    def _lacks_room(self, files: Sequence[OnBoard], copies: int) -> bool:
        """Return true if the programs beside the slots do not fit where ours are."""
        programs = [file for file in files if file.target not in SLOTS]
        return copies * self._blocks(programs) > self.free_blocks + self.own_blocks

    def _blocks(self, files: Sequence[OnBoard]) -> int:
        return sum(-(-len(file.content) // self.block_bytes) for file in files)


def place_of(files: Sequence[OnBoard]) -> SlotPlace:
    """Return the place of slots that the start programs among these files know."""
    names = {file.target for file in files}
    if _OF_WORDS in names:
        return SlotPlace.WORDS
    return SlotPlace.BLOCKS if _OF_BLOCKS in names else SlotPlace.FILES


def read_state(said: str) -> FlashState:
    """Return the answer to the question.

    Raises:
        Unsuitable: it is none.
    """
    try:
        return msgspec.json.decode(said.strip().splitlines()[-1], type=FlashState)
    except (IndexError, ValueError) as err:
        raise Unsuitable(f"the board did not say what it is: {said.strip()[-200:]!r}") from err
