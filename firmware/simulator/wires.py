# The file descriptors that the host handed over: the pseudo-terminal, the control line, the record.

import os
import select
import sys

# The pass of the firmware is the same 10 ms; waiting longer would delay a lease
_WAIT_MS = 10
_CONTROL_FD = 0
# The status with which the interpreter asks for another start, after a reset
RESTARTS = 5
# The status of one that ends because the host has gone
_PULLED_OUT = 3
_unread = b""
# Of the flash, until the power is cut; negative: it is not
operations_left = -1
operations = 0
# An erase takes that long at least: of flash that is worn out
erase_ms = 0

PTY = open(int(sys.argv[1]), "r+b", buffering=0)  # noqa: SIM115  - open for the life of the board
_control = open(_CONTROL_FD, "r+b", buffering=0)  # noqa: SIM115  - as above
_record = open(sys.argv[2], "ab", buffering=0)  # noqa: SIM115  - as above

_pty_poll = select.poll()
_pty_poll.register(PTY, select.POLLIN)
_control_poll = select.poll()
_control_poll.register(_control, select.POLLIN)
_both_poll = select.poll()
_both_poll.register(PTY, select.POLLIN)
_both_poll.register(_control, select.POLLIN)


def pty_has_bytes():
    # A terminal that is gone has none, and whoever listens next finds that out
    for _, event in _pty_poll.ipoll(0):
        return bool(event & select.POLLIN)
    return False


def wait(limit_ms):
    # Whether it was the Pi that ended it; a terminal that is gone is nobody
    for stream, event in _both_poll.ipoll(max(0, min(_WAIT_MS, limit_ms))):
        if stream is PTY and event == select.POLLIN:
            return True
    return False


def control_bytes():
    # None when nothing is there, empty when the host has gone
    return _control.read(512) if _control_poll.poll(0) else None


def orders():
    # The lines of the host that are whole; without a host there is no board any more
    global _unread  # noqa: PLW0603  - there is one control line
    data = control_bytes()
    if data is None:
        return ()
    if not data:
        vanish()
    lines = (_unread + data).split(b"\n")
    _unread = lines.pop()
    return lines


def vanish():
    # The host was killed: the board is gone at once
    remove_link()
    sys.exit(_PULLED_OUT)


def remove_link():
    # The name that the host gave us must not lead to whoever gets our terminal's number next,
    # unless another board has taken it over in the meantime
    link, terminal = sys.argv[5], sys.argv[6]
    try:
        if os.stat(link)[1:3] == os.stat(terminal)[1:3]:
            os.unlink(link)
    except OSError:
        pass


def restart():
    # The host starts the interpreter again, as a reset would
    sys.exit(RESTARTS)


def flash_operation():
    # Whether the power fails in the middle of this one
    global operations_left, operations  # noqa: PLW0603  - there is one power supply
    operations += 1
    if operations_left < 0:
        return False
    operations_left -= 1
    return operations_left < 0


def reply(line):
    _control.write(line + "\n")


def record(line):
    _record.write(line + "\n")
