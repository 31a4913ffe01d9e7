# Hard interrupts of the simulated board: a thread of the interpreter that no lock of Python holds
# back, so that it runs while the firmware sleeps, spins or collects. As on the board, nothing can
# be allocated in it: its heap is locked, and what tries ends up in the record.
#
# What it does not show: how late a real interrupt comes, and that it stops the loop meanwhile.

import _thread
import select

import micropython

# Which threads are interrupts
_idents = []


def every(period_ms, callback, report):
    # `report` gets what went wrong in the callback
    _thread.start_new_thread(_run, (period_ms, callback, report))


def pause():
    # The simulated hardware is no firmware: it may allocate. Returns what `resume` wants.
    if _thread.get_ident() not in _idents:
        return False
    micropython.heap_unlock()
    return True


def resume(paused):
    if paused:
        micropython.heap_lock()


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
