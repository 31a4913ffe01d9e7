# The flash of an STM32F4 as its registers and its addresses have it: words that are programmed bit
# by bit from 1 to 0, sectors that are erased as a whole, a lock. On the file of flash.py, which
# begins where MicroPython's file system does. The power may fail at any erase and every 128 words.

import time

import interrupts
import wires
import world

_BASE = 0x08004000
# Where MicroPython's own code begins
_CODE = 0x08020000
_BLOCK_BYTES = 512
_ACR, _KEYR, _SR, _CR = 0x40023C00, 0x40023C04, 0x40023C0C, 0x40023C10
_KEYS = (0x45670123, 0xCDEF89AB)
_LOCK = 0x80000000
_PROGRAM, _ERASE, _WORDS, _START = 1, 2, 0x200, 0x10000
_SEQUENCE_FAULT = 0x80
_SIZE = 0x1FFF7A22
# Number, address and bytes of the sectors that are no code
_SECTORS = {
    1: (0x08004000, 0x4000),
    2: (0x08008000, 0x4000),
    3: (0x0800C000, 0x4000),
    4: (0x08010000, 0x10000),
    11: (0x080E0000, 0x20000),
}
_LAST = 11


class Registers:
    # `others` are the words that are no flash's; `flash_kb` is the size of the part.

    def __init__(self, path, flash_kb, others, erase_ms=0):
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115  - open for the life of the board
        self._flash_kb = flash_kb
        self._others = others
        self._erase_ms = erase_ms
        self._keys = []
        self._control = _LOCK
        self._faults = 0
        self._caches = 0x600

    def __getitem__(self, address):
        if address == _CR:
            return self._control
        if address == _SR:
            return self._faults
        if address == _ACR:
            return self._caches
        if address == _SIZE:
            return self._flash_kb
        if address >> 24 == _BASE >> 24:
            return int.from_bytes(self.at(address, 4), "little")
        return self._others[address]

    def __setitem__(self, address, word):
        if address == _KEYR:
            self._unlock(word)
        elif address == _SR:
            self._faults &= ~word
        elif address == _ACR:
            self._caches = word
        elif address == _CR:
            self._obey(word)
        elif address >> 24 == _BASE >> 24:
            self._program(address, word)
        else:
            self._others[address] = word

    def at(self, address, size):
        # What is there, as a copy
        self._file.seek(self._place(address))
        return bytearray(self._file.read(size))

    def _place(self, address):
        if _BASE <= address < _CODE:
            return address - _BASE
        first, size = _SECTORS[_LAST]
        if first <= address < first + size and self._flash_kb == 1024:
            return _CODE - _BASE + address - first
        raise ValueError("%x is code, or no flash" % address)

    def _unlock(self, word):
        if not self._control & _LOCK:
            raise ValueError("a key for an open lock")
        self._keys.append(word)
        if tuple(self._keys) == _KEYS:
            self._control &= ~_LOCK
            self._keys = []

    def _obey(self, word):
        if self._control & _LOCK:
            return
        self._control = word & ~_START
        if word & _START and word & _ERASE:
            self._erase(*_SECTORS[word >> 3 & 15])

    def _erase(self, address, size):
        # Code lies in the same flash: nothing runs meanwhile
        with interrupts.step:
            fails = wires.flash_operation()
            first = self._place(address)
            world.record({"event": "erase", "block": first // 512, "blocks": size // 512})
            self._file.seek(first)
            for _ in range(size // _BLOCK_BYTES // (2 if fails else 1)):
                self._file.write(b"\xff" * _BLOCK_BYTES)
            if fails:
                wires.restart()
            time.sleep_ms(self._erase_ms)

    def _program(self, address, word):
        if self._control & (_PROGRAM | _WORDS) != _PROGRAM | _WORDS or self._control & _LOCK:
            self._faults |= _SEQUENCE_FAULT
            return
        if address % _BLOCK_BYTES == 0 and wires.flash_operation():
            wires.restart()
        was = int.from_bytes(self.at(address, 4), "little")
        self._file.seek(self._place(address))
        self._file.write((word & was).to_bytes(4, "little"))


class FlashAddresses:
    # In the place of MicroPython's uctypes, which cannot be told where the flash is.

    def __init__(self, registers):
        self._registers = registers

    def bytearray_at(self, address, size):
        return self._registers.at(address, size)
