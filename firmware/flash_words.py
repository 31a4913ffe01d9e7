# Erases and writes the flash of an STM32F4 by its registers, as the reference manuals say (RM0368,
# RM0383, RM0390, RM0090: "Embedded Flash memory interface"). At the prompt of scripts/flash, and on
# a board that can keep a second version of the firmware. The processor waits meanwhile.

import machine
import uctypes
from micropython import const
from raw_slots import SECTORS, read, size

_PIECE_BYTES = const(256)

_ACR = const(0x40023C00)
_KEYR = const(0x40023C04)
_SR = const(0x40023C0C)
_CR = const(0x40023C10)
# 2.7 to 3.6 V: words of 32 bits
_WORDS = const(0x200)
_PROGRAM = const(1)
_ERASE = const(2)
_START = const(0x10000)
_BUSY = const(0x10000)
_FAULTS = const(0xF2)
_LOCK = 0x80000000
_CACHES = const(0x600)
_FORGET = const(0x1800)


def _do(control, work):
    # With the lock open for as long as it takes; a key for one that is open would close it for good
    if machine.mem32[_CR] & _LOCK:
        machine.mem32[_KEYR] = 0x45670123
        machine.mem32[_KEYR] = 0xCDEF89AB
    machine.mem32[_SR] = _FAULTS
    machine.mem32[_CR] = control
    try:
        work()
        while machine.mem32[_SR] & _BUSY:
            pass
        faults = machine.mem32[_SR] & _FAULTS
    finally:
        machine.mem32[_CR] = _LOCK
    # The processor must not see what was there before
    kept = machine.mem32[_ACR]
    machine.mem32[_ACR] = kept & ~_CACHES
    machine.mem32[_ACR] = kept & ~_CACHES | _FORGET
    machine.mem32[_ACR] = kept & ~_CACHES
    machine.mem32[_ACR] = kept
    if faults:
        raise OSError(5)


def written(slot):
    # Up to the last byte that is not erased
    for at in range(size(slot) - _PIECE_BYTES, -1, -_PIECE_BYTES):
        left = bytes(read(slot, at, _PIECE_BYTES)).rstrip(b"\xff")
        if left:
            return at + len(left)
    return 0


def erase(slot, _page):
    control = _WORDS | _ERASE | SECTORS[slot][2] << 3

    def start():
        machine.mem32[_CR] = control | _START

    _do(control, start)


def write(slot, at, data):
    program(SECTORS[slot][0] + at, data)


def program(address, data):
    # Bits only go from 1 to 0. What is beside the data in its first and last word stays.
    first = address & ~3
    end = (address + len(data) + 3) & ~3
    words = bytearray(uctypes.bytearray_at(first, end - first))
    words[address - first : address - first + len(data)] = data

    def work():
        for at in range(0, end - first, 4):
            word = words[at] | words[at + 1] << 8 | words[at + 2] << 16 | words[at + 3] << 24
            machine.mem32[first + at] = word

    _do(_WORDS | _PROGRAM, work)
    if uctypes.bytearray_at(first, end - first) != words:
        raise OSError(5)
