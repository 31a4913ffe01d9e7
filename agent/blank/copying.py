"""Our firmware put onto a board at MicroPython's prompt: asked, copied, every hash compared.

`scripts/flash` does the same by mpremote, with these programs. A copy that is cut short leaves a
board that does nothing but wait at its prompt: what starts the firmware goes first and comes last.
"""

import binascii
import contextlib
import hashlib
from collections.abc import Callable, Iterable, Sequence

from agent.blank.board_state import (
    OWN_FILES,
    OWN_FOLDERS,
    QUESTION,
    FlashState,
    OnBoard,
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
os.chdir("/")
vfs.umount("/flash")
device = pyb.Flash(start=0)
make(device)
vfs.mount(device, "/flash")
os.chdir("/flash")
"""
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


def format_program() -> str:
    """Return what puts a roomier file system in the place of MicroPython's."""
    return prompt_program("small_fat.py") + _REMOUNT


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
    if found.holds(files):
        await _run(f"{CLEAR}clear({list(OWN_FILES)!r})\n", prompt)
    else:
        await _run(format_program(), prompt)
    whole, sent = sum(len(file.content) for file in files), 0
    for file in files:
        await _run(_OPEN.format(path=file.target), prompt)
        for at in range(0, len(file.content), _CHUNK_BYTES):
            piece = file.content[at : at + _CHUNK_BYTES]
            text = binascii.b2a_base64(piece, newline=False)
            await _run(_WRITE.format(text=text), prompt)
            sent += len(piece)
            on_copied(sent, whole)
        await _run(_CLOSE, prompt)
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
