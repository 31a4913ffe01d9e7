# Who this board is, for the greeting.

import struct
import sys

import frame
import machine
import stm

FIRMWARE_VERSION = (0, 2, 0)

_CAUSE_UNKNOWN = 0
_CAUSE_POWER = 1
_CAUSE_PIN = 2
_CAUSE_WATCHDOG = 3
_CAUSE_SOFTWARE = 5
_CAUSE_DEEP_SLEEP = 6


def reset_cause():
    # MicroPython counts a brown-out as power-on, so 4 is never said
    cause = machine.reset_cause()
    if cause == machine.PWRON_RESET:
        return _CAUSE_POWER
    if cause == machine.HARD_RESET:
        return _CAUSE_PIN
    if cause == machine.WDT_RESET:
        return _CAUSE_WATCHDOG
    if cause == machine.SOFT_RESET:
        return _CAUSE_SOFTWARE
    if cause == machine.DEEPSLEEP_RESET:
        return _CAUSE_DEEP_SLEEP
    return _CAUSE_UNKNOWN


def count_boot():
    # In a backup register: it outlives every reset but not the loss of power, and wears nothing
    register = stm.RTC + stm.RTC_BKP19R
    count = (machine.mem32[register] + 1) & 0xFFFFFFFF
    machine.mem32[register] = count
    return count


def greeting(board, description):
    # The payload of HELLO_ACK with nonce and version still to be filled in
    name = board.NAME.encode()
    fixed = struct.pack(
        frame.HELLO_ACK_FORMAT,
        0,
        0,
        *FIRMWARE_VERSION,
        description.BUILD,
        reset_cause(),
        count_boot(),
        board.RECEIVE_WINDOW_BYTES,
        # Of the place that its versions really have
        sys.modules["raw_slots"].CLASS if "raw_slots" in sys.modules else board.FLASH_CLASS,
        description.MANIFEST_HASH,
        bytes(8),
        machine.unique_id(),
        len(name),
    )
    return bytearray(fixed + name)
