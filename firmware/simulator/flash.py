# The flash that MicroPython's stm32 port makes of a microcontroller: blocks of 512 bytes on sectors
# that are erased and written as a whole, one of them cached in RAM. In a file of the host, which
# may have more flash behind it, for registers.py.
#
# The sector of the cache is erased half a second after its first change at the latest. It is
# written when another one is needed, when a file is closed, or five seconds after the last change;
# LED1 is lit until then. The processor waits for both. The power may fail at any erase and before
# any block.

import time

import interrupts
import wires
import world

_BLOCK_BYTES = 512
_NUM_BLOCKS = 4
_BLOCK_SIZE = 5
_SYNC = 3
_ERASED = b"\xff" * _BLOCK_BYTES
# The ticks of the port at which it looks after the cache, and the age at which it writes
_LOOKS_EVERY_MS = 512
_WRITES_AFTER_MS = 5_000


class Flash:
    # `part` is what firmware/host/parts.py knows: the blocks of each sector, the two times.
    # `light` is called with 1 and 0.

    def __init__(self, path, part, light):
        self._erase_ms = part["erase_ms"]
        self._program_ms = part["program_ms"]
        self._light = light
        self._first_blocks = []
        blocks = 0
        for count in part["sectors"]:
            self._first_blocks.append((blocks, count))
            blocks += count
        self._blocks = blocks
        self._erased_blocks = part.get("erased_blocks") or part["sectors"]
        try:
            self._file = open(path, "r+b")  # noqa: SIM115  - open for the life of the board
            self.is_new = False
        except OSError:
            self._file = open(path, "w+b")  # noqa: SIM115  - as above
            for _ in range(max(blocks, part.get("chip_blocks", 0))):
                self._file.write(_ERASED)
            self._file.flush()
            self.is_new = True
        self._cached = (0, 0)
        self._cache = bytearray(max(part["sectors"]) * _BLOCK_BYTES)
        self._dirty = False
        self._is_erased = False
        self._changed_ms = self._looked_ms = time.ticks_ms()

    def readblocks(self, block, buffer):
        first, count = self._cached
        view = memoryview(buffer)
        for at in range(0, len(buffer), _BLOCK_BYTES):
            if first <= block < first + count:
                start = (block - first) * _BLOCK_BYTES
                view[at : at + _BLOCK_BYTES] = memoryview(self._cache)[start : start + _BLOCK_BYTES]
            else:
                self._file.seek(block * _BLOCK_BYTES)
                self._file.readinto(view[at : at + _BLOCK_BYTES])
            block += 1

    def writeblocks(self, block, buffer):
        for at in range(0, len(buffer), _BLOCK_BYTES):
            self._load_sector_of(block)
            start = (block - self._cached[0]) * _BLOCK_BYTES
            self._cache[start : start + _BLOCK_BYTES] = buffer[at : at + _BLOCK_BYTES]
            self._changed_ms = time.ticks_ms()
            if not self._dirty:
                self._dirty = True
                self._light(1)
            block += 1
            self.look()

    def ioctl(self, operation, _argument):
        if operation == _NUM_BLOCKS:
            return self._blocks
        if operation == _BLOCK_SIZE:
            return _BLOCK_BYTES
        if operation == _SYNC:
            self.flush()
        return 0

    def look(self):
        # As the port does at its own ticks, whatever Python does: here between blocks and passes
        now_ms = time.ticks_ms()
        if not self._dirty or time.ticks_diff(now_ms, self._looked_ms) < _LOOKS_EVERY_MS:
            return
        self._looked_ms = now_ms
        if not self._is_erased:
            self._erase(*self._cached)
        elif time.ticks_diff(now_ms, self._changed_ms) >= _WRITES_AFTER_MS:
            self.flush()

    def flush(self):
        if not self._dirty:
            return
        first, count = self._cached
        if not self._is_erased:
            self._erase(first, count)
        # Code and the tables of interrupts lie in the same flash: nothing runs meanwhile
        with interrupts.step:
            for block in range(count):
                self._program(first, block)
            self._file.flush()
        self._dirty = self._is_erased = False
        self._light(0)

    def _load_sector_of(self, block):
        first, count = self._cached
        if first <= block < first + count:
            return
        self.flush()
        for first, count in self._first_blocks:
            if first <= block < first + count:
                self._file.seek(first * _BLOCK_BYTES)
                self._file.readinto(memoryview(self._cache)[: count * _BLOCK_BYTES])
                self._cached = (first, count)
                return
        raise OSError(22)

    def _erase(self, first, count):
        with interrupts.step:
            fails = wires.flash_operation()
            world.record({"event": "erase", "block": first, "blocks": count})
            at = self._first_blocks.index((first, count))
            self._erase_blocks(first, self._erased_blocks[at], fails)
            time.sleep_ms(int(max(self._erase_ms[at], wires.erase_ms)))
        self._is_erased = True

    def _erase_blocks(self, first, count, fails):
        # Of the whole sector, of which the cache may have less
        self._file.seek(first * _BLOCK_BYTES)
        for _ in range(count // 2 if fails else count):
            self._file.write(_ERASED)
        if fails:
            self._fail()

    def _program(self, first, block):
        if wires.flash_operation():
            self._fail()
        start = block * _BLOCK_BYTES
        self._file.seek((first + block) * _BLOCK_BYTES)
        self._file.write(memoryview(self._cache)[start : start + _BLOCK_BYTES])
        time.sleep_us(int(self._program_ms * 1000))

    def _fail(self):
        self._file.flush()
        wires.restart()
