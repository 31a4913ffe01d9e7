# The watchdog of the simulated board: one that is not fed in time is reset, whatever it does just
# then, an erase of its flash included.
#
# A thread counts its own looks, not the time that has passed: where the whole computer is late, or
# the process was stopped, a board that works is not reset.

import _thread
import select

# The status with which the interpreter ends; the host starts it again
RESET = 6
_LOOKS_EVERY_MS = 20

_limit_ms = 0
_waited_ms = 0


def watch(limit_ms):
    global _limit_ms, _waited_ms  # noqa: PLW0603  - there is one watchdog
    is_new = _limit_ms == 0
    _limit_ms = limit_ms
    _waited_ms = 0
    if is_new:
        _thread.start_new_thread(_look, (_exit(),))


def feed():
    global _waited_ms  # noqa: PLW0603  - as above
    _waited_ms = 0


def _exit():
    # Of the process, from any thread, with nothing cleaned up
    import ffi  # type: ignore[import-not-found]  # noqa: PLC0415  - of the unix port alone

    return ffi.open(None).func("v", "_exit", "i")


def _look(end):
    global _waited_ms  # noqa: PLW0603  - as above
    nothing = select.poll()
    while True:
        for _ in nothing.ipoll(_LOOKS_EVERY_MS):
            pass
        _waited_ms += _LOOKS_EVERY_MS
        if _waited_ms > _limit_ms + _LOOKS_EVERY_MS:
            end(RESET)
