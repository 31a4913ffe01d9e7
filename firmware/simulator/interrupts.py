# Hard interrupts of the simulated board: a thread of the interpreter that no lock of Python holds
# back, so that it runs while the firmware sleeps, spins or collects. As on the board, nothing can
# be allocated in it: its heap is locked, and what tries ends up in the record.
#
# What it does not show: how late a real interrupt comes, and that it stops the loop meanwhile.

import _thread
import gc
import select

import micropython

# Here files are compiled while they are loaded, which scatters what lasts among what does not:
# collected this often, what is free stays in one piece. A board has compiled files.
_COLLECT_EVERY_BYTES = 16_384
# Which threads are interrupts
_idents = []


def collect_often():
    gc.threshold(_COLLECT_EVERY_BYTES)


def every(period_ms, callback, report):
    # `report` gets what went wrong in the callback
    _thread.start_new_thread(_run, (period_ms, callback, report))


class _Step:
    # What the hardware does in one step is seen by the other thread as a whole or not at all. An
    # interrupt stops the loop on a board; here both may be in the middle of the same pin, and the
    # pin and its record would tell different things from then on.

    def __init__(self):
        self._lock = _thread.allocate_lock()
        self._is_interrupt = False

    def __enter__(self):
        self._lock.acquire()
        # The simulated hardware is no firmware: it may allocate
        self._is_interrupt = _thread.get_ident() in _idents
        if self._is_interrupt:
            # The loop runs on, and must not have its memory collected under its feet
            gc.threshold(-1)
            micropython.heap_unlock()

    def __exit__(self, _kind, _fault, _trace):
        if self._is_interrupt:
            micropython.heap_lock()
            collect_often()
        self._lock.release()


# Not to be entered twice
step = _Step()


def _run(period_ms, callback, report):
    _idents.append(_thread.get_ident())
    nothing = select.poll()
    while True:
        # One wait for all of it: sleeping wakes up every half millisecond
        for _ in nothing.ipoll(period_ms):
            pass
        fault = None
        micropython.heap_lock()
        try:
            callback(None)
        except Exception as err:
            fault = err
        micropython.heap_unlock()
        if fault is not None:
            report(fault)
