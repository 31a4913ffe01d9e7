"""A board at its prompt whose flash is that of a part, in mpremote's place.

MicroPython runs what is executed, on the model of the flash in firmware/simulator: sectors, cache,
file system and registers. It stays in a file from one command to the next.
"""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from firmware.host import interpreter
from firmware.host.bundle import FIRMWARE
from firmware.host.flash import FlashFailed
from firmware.host.parts import PARTS

_SIMULATOR = FIRMWARE / "simulator"
_PROGRAM = f"""
import json, os, sys, vfs
sys.path[:0] = [{str(_SIMULATOR / "cuts")!r}, {str(_SIMULATOR)!r}]
import flash, machine, pyb, registers
class Sealed(registers.Registers):
    def _program(self, address, word):
        pass
part = json.loads({{part!r}})
chip = flash.Flash({{path!r}}, part, lambda _level: None)
pyb.Flash = lambda **_where: chip
if part["flash_kb"]:
    kind = Sealed if {{is_sealed}} else registers.Registers
    machine.mem32 = machine.mem16 = kind({{path!r}}, part["flash_kb"], {{{{}}}})
    sys.modules["uctypes"] = registers.FlashAddresses(machine.mem32)
if chip.is_new:
    vfs.VfsFat.mkfs(chip)
vfs.mount(chip, "/flash")
os.chdir("/flash")
sys.path.append("/flash")
exec({{said!r}})
os.chdir("/")
vfs.umount("/flash")
chip.flush()
"""
_COPY = """
for source, target in {pairs!r}:
    with open(source, "rb") as read, open(target, "wb") as write:
        write.write(read.read())
"""
_ASKED = 'getattr(sys.implementation, "_machine", "")'
_MACHINES = {"nucleo_wb55": "NUCLEO-WB55 with STM32WB55RGV6"}


class ChipBoard:
    """One of the boards in `firmware/boards`, new at first.

    Args:
        folder: where its flash is kept.
        board: which one it is.
        is_sealed: nothing can be programmed by its registers.
    """

    def __init__(self, folder: Path, board: str, *, is_sealed: bool = False) -> None:
        self.path = folder / "chip.bin"
        self._part = json.dumps(PARTS[board].told())
        # What its MicroPython calls itself
        self.machine = _MACHINES.get(board, "a board with STM32F4")
        self._is_sealed = is_sealed
        self._interpreter = interpreter.find()
        # Commands until the cable comes out; negative: it does not
        self.steps_left = -1

    def __call__(self, arguments: Sequence[str]) -> str:
        if self.steps_left == 0:
            raise FlashFailed("cable")
        self.steps_left -= 1
        words = list(arguments[3:])
        if words[0] == "exec":
            return self.run(words[1])
        return self.run(_COPY.format(pairs=[(one, Path(one).name) for one in words[2:-1]]))

    def run(self, said: str) -> str:
        """Execute a program; what it printed."""
        program = _PROGRAM.format(
            part=self._part,
            path=str(self.path),
            is_sealed=self._is_sealed,
            said=said.replace(_ASKED, repr(self.machine)),
        )
        done = subprocess.run(
            [*self._interpreter, "-c", program], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise FlashFailed(done.stderr)
        return done.stdout
