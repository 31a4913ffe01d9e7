# Who this board is, for the greeting.

import os
import struct
import sys

import frame
import machine

FIRMWARE_VERSION = (0, 2, 0)


def reset_cause():
    # As the greeting has it, 0 for unknown. MicroPython counts a brown-out as power-on, so 4 is
    # never said
    causes = {
        machine.PWRON_RESET: 1,
        machine.HARD_RESET: 2,
        machine.WDT_RESET: 3,
        machine.SOFT_RESET: 5,
        machine.DEEPSLEEP_RESET: 6,
    }
    return causes.get(machine.reset_cause(), 0)


def count_boot(word):
    # In a backup register: it outlives every reset but not the loss of power, and wears nothing.
    # Where there is none (0), any number tells two boots apart: 0x80000000 and more
    if not word:
        return struct.unpack("<I", os.urandom(3) + b"\x80")[0]
    machine.mem32[word * 4] += 1
    return machine.mem32[word * 4]


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
        count_boot(board.BOOT_WORD),
        board.RECEIVE_WINDOW_BYTES,
        # Of the place that its versions really have
        sys.modules.get("raw_slots", board).CLASS,
        description.MANIFEST_HASH,
        bytes(8),
        machine.unique_id(),
        len(name),
    )
    return bytearray(fixed + name)
