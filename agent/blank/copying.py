"""Our firmware put onto a board at MicroPython's prompt: asked, copied, every hash compared.

`scripts/flash` does the same by mpremote, with these programs. A copy that is cut short leaves a
board that does nothing but wait at its prompt: what starts the firmware goes first and comes last.
"""

import binascii
import contextlib
import hashlib
from collections.abc import Callable, Iterable, Sequence

from agent.blank.board_state import (
    FILES_BLOCKS,
    OWN_FILES,
    OWN_FOLDERS,
    PLACE_BLOCKS,
    QUESTION,
    SLOTS,
    FlashState,
    OnBoard,
    SlotPlace,
    read_state,
)
from agent.blank.carried import BoardFile
from agent.errors import BarnacleError, LinkLost
from agent.link.prompt import Prompt, prompt_program

CLEAR = f"""
import os
def gone(path):
    try:
        os.remove(path)
    except OSError:
        pass
def clear(paths):
    for path in paths:
        gone(path)
    for folder in {OWN_FOLDERS!r}:
        try:
            for name in os.listdir(folder):
                gone(folder + "/" + name)
            os.rmdir(folder)
        except OSError:
            pass
"""
HASHES = """
import binascii, hashlib
for path in {paths!r}:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while True:
            chunk = file.read(512)
            if not chunk:
                break
            digest.update(chunk)
    print(binascii.hexlify(digest.digest()).decode(), path)
"""
_REMOUNT = """
import os, pyb, vfs
device = pyb.Flash(start=0)
stopped = is_stopped(device)
os.chdir("/")
vfs.umount("/flash")
make(device{how}, is_stopped=stopped)
vfs.mount(device, "/flash")
os.chdir("/flash")
"""
_SLOT_HASH = """
digest = hashlib.sha256()
for at in range(0, {length}, 512):
    digest.update(raw_slots.read({slot}, at, min(512, {length} - at)))
print(binascii.hexlify(digest.digest()).decode())
"""
# Anew: what boot.py imported may be of a version before
_IMPORT = """
import sys
for name in ("raw_slots", "flash_words"):
    sys.modules.pop(name, None)
import binascii, hashlib, raw_slots
"""
# A word at the end of the sector of slot 0, which nobody uses, is programmed
PROBE = """
import machine
from flash_words import program
at = 0x0801FFFC
while machine.mem32[at] == 0 and at > 0x0801F000:
    at -= 4
try:
    program(at, bytes(4))
except OSError:
    pass
print("programmed" if machine.mem32[at] == 0 else "not")
"""
PROGRAMMED = "programmed"
_OPEN = "import binascii\nfile = open({path!r}, 'wb')\n"
_WRITE = "file.write(binascii.a2b_base64({text!r}))\n"
_CLOSE = "file.close()\n"
_RESET = "import machine\nmachine.reset()\n"
_FAULT = "Traceback (most recent call last)"
# A paste of a few hundred characters leaves the board's memory alone
_CHUNK_BYTES = 384

OnCopied = Callable[[int, int], None]


class CopyFailed(BarnacleError):
    """The firmware is not on the board; the text says why and what to do."""


def format_program(found: FlashState) -> str:
    """Return what puts a file system of ours in the place of MicroPython's: roomier, or divided."""
    is_shared = found.place is SlotPlace.WORDS
    apart = f", {FILES_BLOCKS}, {PLACE_BLOCKS}, is_shared={is_shared}"
    how = "" if found.place is SlotPlace.FILES else apart
    return prompt_program("small_fat.py") + _REMOUNT.format(how=how)


def erase_program(slot: int) -> str:
    """Return what empties a slot that is no file; `raw_slots` is imported before."""
    return f"for page in range(raw_slots.PAGES):\n    raw_slots.erase({slot}, page)\n"


def write_program(slot: int, at: int, piece: bytes) -> str:
    """Return what writes a piece of such a slot; `binascii` is imported before."""
    text = binascii.b2a_base64(piece, newline=False)
    return f"raw_slots.write({slot}, {at}, binascii.a2b_base64({text!r}))\n"


def slot_hash_program(slot: int, length: int) -> str:
    """Return what prints the hash of such a slot; `hashlib` is imported before."""
    return _SLOT_HASH.format(slot=slot, length=length)


def wrong_slot(image: OnBoard, said: str) -> bool:
    """Return true if the hash of a slot is not the one of its image."""
    return said.split()[-1:] != [hashlib.sha256(image.content).hexdigest()]


def wrong_files(files: Iterable[OnBoard], said: str) -> list[str]:
    """Return the files that are not on the board as they were sent, from what `HASHES` prints."""
    has = {name: digest for digest, _, name in (line.partition(" ") for line in said.splitlines())}
    return [
        file.target
        for file in files
        if has.get(file.target) != hashlib.sha256(file.content).hexdigest()
    ]


async def ask_state(prompt: Prompt) -> FlashState:
    """Ask the board what it is and has."""
    return read_state(await prompt.run(QUESTION))


async def put(
    files: Sequence[BoardFile], found: FlashState, prompt: Prompt, on_copied: OnCopied
) -> None:
    """Put the files onto a board that has room for them, in their order, and compare them.

    Raises:
        CopyFailed: the board has something else than these files.
        LinkLost: it stopped answering.
    """
    if found.place is not SlotPlace.FILES:
        await _put_into_slot(files, found, prompt, on_copied)
        return
    await _make_room(found, prompt, keeps=found.holds(files))
    copied = _Copied(files, on_copied)
    for file in files:
        await _write(file, prompt, copied)
    await _compare(files, prompt)


async def _make_room(found: FlashState, prompt: Prompt, *, keeps: bool) -> None:
    """Take our own files off a file system that is kept, or make a new one."""
    own = f"{CLEAR}clear({list(OWN_FILES)!r})\n"
    await _run(own if keeps else format_program(found), prompt)


class _Copied:
    """Count of what is on the board."""

    def __init__(self, files: Sequence[BoardFile], on_copied: OnCopied) -> None:
        self._whole = sum(len(file.content) for file in files)
        self._sent = 0
        self._tell = on_copied

    def add(self, count: int) -> None:
        self._sent += count
        self._tell(self._sent, self._whole)


async def _put_into_slot(
    files: Sequence[BoardFile], found: FlashState, prompt: Prompt, on_copied: OnCopied
) -> None:
    """Put the version into the first slot, which is no file, and leave no other one to start."""
    (image,) = (file for file in files if file.target in SLOTS)
    *programs, main = (file for file in files if file is not image)
    await _make_room(found, prompt, keeps=found.is_laid_out)
    copied = _Copied(files, on_copied)
    for file in programs:
        await _write(file, prompt, copied)
    await _run(_IMPORT, prompt)
    if found.place is SlotPlace.WORDS and (await _run(PROBE, prompt)).split()[-1:] != [PROGRAMMED]:
        raise CopyFailed(
            "its flash cannot be written beside the file system: `scripts/flash --freeze` on a PC "
            "makes what a MicroPython with the firmware frozen in is built from"
        )
    for slot in range(1 + found.has_second):
        await _run(erase_program(slot), prompt)
    # Its head comes last, because that is what makes it one to start
    for at in [*range(_CHUNK_BYTES, len(image.content), _CHUNK_BYTES), 0]:
        piece = image.content[at : at + _CHUNK_BYTES]
        await _run(write_program(0, at, piece), prompt)
        copied.add(len(piece))
    if wrong_slot(image, await _run(slot_hash_program(0, len(image.content)), prompt)):
        raise CopyFailed(f"not as sent: {image.target}; start over")
    await _write(main, prompt, copied)
    await _compare([*programs, main], prompt)


async def _write(file: BoardFile, prompt: Prompt, copied: _Copied) -> None:
    await _run(_OPEN.format(path=file.target), prompt)
    for at in range(0, len(file.content), _CHUNK_BYTES):
        piece = file.content[at : at + _CHUNK_BYTES]
        text = binascii.b2a_base64(piece, newline=False)
        await _run(_WRITE.format(text=text), prompt)
        copied.add(len(piece))
    await _run(_CLOSE, prompt)


async def _compare(files: Sequence[BoardFile], prompt: Prompt) -> None:
    said = await _run(HASHES.format(paths=[file.target for file in files]), prompt)
    if wrong := wrong_files(files, said):
        raise CopyFailed(f"not as sent: {', '.join(wrong)}; start over")


async def restart(prompt: Prompt) -> None:
    """Reset the board, which then runs what it was given."""
    # Its port may be gone before it has answered; the greeting shows what came of it
    with contextlib.suppress(LinkLost):
        await prompt.start(_RESET)


async def _run(program: str, prompt: Prompt) -> str:
    said = await prompt.run(program)
    if _FAULT in said:
        last = [line for line in said.splitlines() if line.strip()][-1]
        raise CopyFailed(f"the board says {last.strip()!r}: press its reset button, start over")
    return said
