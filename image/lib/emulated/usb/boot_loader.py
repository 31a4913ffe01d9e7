"""The boot loader in the ROM of an STM32F411: DFU with ST's commands (AN3156, UM0391).

Its flash is erased by sectors, and written bits only go from 1 to 0, as in the chip.
"""

import enum
import struct
from collections.abc import Callable

from image.lib.emulated.usb.device import Face, Interface, Stalled, Unplugged

BASE = 0x08000000
# An F411 with 512 KB, in KB
SECTORS_KB = (16, 16, 16, 16, 64, 128, 128, 128)
LAYOUT = "@Internal Flash  /0x08000000/04*016Kg,01*064Kg,03*128Kg"
TRANSFER_BYTES = 2048
_NAMES = ("STMicroelectronics", "STM32  BOOTLOADER", "3971355B3432", LAYOUT)
# Can be written and read, and leaves by itself
_FUNCTION = struct.pack("<BBBHHH", 9, 0x21, 0x0B, 255, TRANSFER_BYTES, 0x011A)
FACE = Face(0x0483, 0xDF11, (0, 0, 0), (Interface((0xFE, 1, 2), (), _FUNCTION, name=4),), _NAMES)
# A command and the address that it is about
_COMMAND = struct.Struct("<BI")
_POINT, _ERASE = 0x21, 0x41
_COMMANDS = bytes((0x00, _POINT, _ERASE, 0x92))
# Blocks 0 and 1 are commands and nothing
_FIRST_BLOCK = 2
_OK, _BAD_TARGET, _STALLED = 0, 0x01, 0x0F
# What a command does, once its status is asked for
_Work = Callable[[], None]


class Request(enum.IntEnum):
    """Request of DFU 1.1."""

    DOWNLOAD = 1
    UPLOAD = 2
    GET_STATUS = 3
    CLEAR_STATUS = 4
    GET_STATE = 5
    ABORT = 6


class State(enum.IntEnum):
    """State of the protocol, by the numbers of DFU 1.1."""

    IDLE = 2
    DOWNLOAD_SYNC = 3
    BUSY = 4
    DOWNLOAD_IDLE = 5
    MANIFEST_SYNC = 6
    UPLOAD_IDLE = 9
    ERROR = 10


class BootLoaderDevice:
    """One board in its boot loader.

    Args:
        flash: kept over cuts of the power; without, an empty one.
        cut_after: so many blocks and erased sectors are done, in the next one the power goes.
    """

    face = FACE

    def __init__(self, flash: bytearray | None = None, cut_after: int | None = None) -> None:
        self.flash = bytearray(b"\xff" * 1024 * sum(SECTORS_KB)) if flash is None else flash
        self.operations = 0
        # Where it was told to start the program; None until then
        self.started_at: int | None = None
        self._cut_after = cut_after
        self._state = State.IDLE
        self._status = _OK
        self._pointer = BASE
        self._work: _Work | None = None

    def fileno(self) -> int:
        return -1

    def take(self, endpoint: int, data: bytes) -> None:
        del endpoint, data

    def give(self, most_bytes: int) -> bytes:
        del most_bytes
        return b""

    def request(self, kind: int, request: int, value: int, index: int, data: bytes) -> bytes:
        del kind, index
        if self.started_at is not None:
            raise Unplugged
        match request:
            case Request.DOWNLOAD:
                self._download(value, data)
                return b""
            case Request.UPLOAD:
                return self._upload(value)
            case Request.GET_STATUS:
                return self._told_status()
            case Request.GET_STATE:
                return bytes((self._state,))
            case Request.CLEAR_STATUS | Request.ABORT:
                self._state, self._status = State.IDLE, _OK
                return b""
        raise Stalled

    def _download(self, block: int, data: bytes) -> None:
        if self._state not in {State.IDLE, State.DOWNLOAD_IDLE}:
            self._refuse()
        self._state = State.DOWNLOAD_SYNC
        if not data:
            self._state = State.MANIFEST_SYNC
        elif block == 0:
            self._command(data)
        elif block >= _FIRST_BLOCK:
            at = self._pointer + (block - _FIRST_BLOCK) * TRANSFER_BYTES
            self._work = lambda: self._write(at, data)
        else:
            self._refuse()

    def _command(self, data: bytes) -> None:
        if len(data) != _COMMAND.size or data[0] not in {_POINT, _ERASE}:
            self._refuse()
        command, address = _COMMAND.unpack(data)
        if not BASE <= address < BASE + len(self.flash):
            self._refuse(_BAD_TARGET)
        if command == _POINT:
            self._pointer = address
            self._work = lambda: None
        else:
            self._work = lambda: self._erase(address)

    def _told_status(self) -> bytes:
        # The work is done while the first one is answered, and seen at the second
        told, wait_ms = self._state, 0
        if self._state is State.DOWNLOAD_SYNC and self._work is not None:
            work, self._work = self._work, None
            work()
            told, wait_ms = State.BUSY, 1
        elif self._state is State.DOWNLOAD_SYNC:
            told = self._state = State.DOWNLOAD_IDLE
        elif self._state is State.MANIFEST_SYNC:
            self.started_at = self._pointer
        return struct.pack("<BI", self._status, wait_ms)[:4] + bytes((told, 0))

    def _upload(self, block: int) -> bytes:
        if self._state not in {State.IDLE, State.UPLOAD_IDLE}:
            self._refuse()
        self._state = State.UPLOAD_IDLE
        if block < _FIRST_BLOCK:
            return _COMMANDS
        start = self._pointer - BASE + (block - _FIRST_BLOCK) * TRANSFER_BYTES
        return bytes(self.flash[start : start + TRANSFER_BYTES])

    def _erase(self, address: int) -> None:
        start = 0
        for size in (1024 * one for one in SECTORS_KB):
            if start <= address - BASE < start + size:
                self._change(start, b"\xff" * size)
                return
            start += size

    def _write(self, address: int, data: bytes) -> None:
        start = address - BASE
        if not 0 <= start <= len(self.flash) - len(data):
            self._refuse(_BAD_TARGET)
        old = self.flash[start : start + len(data)]
        self._change(start, bytes(new & kept for new, kept in zip(data, old, strict=True)))

    def _change(self, start: int, data: bytes) -> None:
        self.operations += 1
        if self._cut_after is not None and self.operations > self._cut_after:
            half = data[: len(data) // 2]
            self.flash[start : start + len(half)] = half
            raise Unplugged
        self.flash[start : start + len(data)] = data

    def _refuse(self, status: int = _STALLED) -> None:
        self._state, self._status = State.ERROR, status
        raise Stalled
