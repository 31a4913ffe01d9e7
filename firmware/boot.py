# Runs before main.py, is never updated over the link, and so stays small.
#
# It leaves a window in which the words below, sent over the link, keep the board at MicroPython's
# prompt; scripts/flash sends them. A bare Ctrl-C does not: the byte 3 may be part of a frame.
# The window closes early when a zero byte arrives: text has none, every frame has two.

import sys
import time

import micropython

_KNOCK = b"barnacle: stay at the prompt\r"

stay_at_prompt = False
micropython.kbd_intr(-1)
try:
    # Where the firmware is frozen in, it counts before files of an older one; "" stays the first
    # of the others
    if ".frozen" in sys.path:
        sys.path.remove(".frozen")
        sys.path.insert(0, ".frozen")
    import slots

    slots.start()
    if slots.trial:
        import machine

        # Whatever a version on trial does wrong from here on ends in a reset
        machine.WDT(timeout=8000)
    import board
    from node.port import open_stream

    if board.LINK[0] == "usb":
        import pyb

        # Before anybody can knock; and without the disk, which a computer would write to
        pyb.usb_mode("VCP")
    stream = open_stream(board.LINK)
    heard = b""
    began_ms = time.ticks_ms()
    while time.ticks_diff(time.ticks_ms(), began_ms) < board.PROMPT_WINDOW_MS:
        if stream.any():
            heard = (heard + (stream.read(32) or b""))[-64:]
        if _KNOCK in heard or b"\0" in heard:
            break
        time.sleep_ms(1)
    stay_at_prompt = _KNOCK in heard
except Exception as fault:  # nothing usable is installed: leave the prompt to whoever repairs it
    # The reason stands above the prompt
    sys.print_exception(fault)  # type: ignore[attr-defined]  # MicroPython's own
    stay_at_prompt = True
if stay_at_prompt:
    micropython.kbd_intr(3)
