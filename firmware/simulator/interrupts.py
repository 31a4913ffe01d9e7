# Hard interrupts of the simulated board. A thread of the interpreter is the clock; what it calls
# runs in the loop's own thread, between any two of its bytecodes, while it works, sleeps or spins.
# As on the board the loop stands still meanwhile, and nothing can be allocated: the heap is locked,
# and a callback that tries ends up in the record.
#
# What it does not show: an interrupt in the middle of one bytecode or of a collection.

import _thread
import gc
import select
import time

import micropython

# Here files are compiled while they are loaded, which scatters what lasts among what does not:
# collected this often, what is free stays in one piece. A board has compiled files.
_COLLECT_EVERY_BYTES = 16_384


def collect_often():
    gc.threshold(_COLLECT_EVERY_BYTES)


def spin(for_ms):
    # The firmware is stuck in a loop that takes memory, so that it also collects
    began_ms = time.ticks_ms()
    while time.ticks_diff(time.ticks_ms(), began_ms) < for_ms:
        bytearray(64)


def every(period_ms, callback, report):
    # `report` gets the exception of a callback
    _thread.start_new_thread(_tick, (period_ms, Interrupt(callback, report)))


class _Step:
    # What the hardware does in one step. An interrupt sees all of it or nothing: one that comes
    # meanwhile runs at the end of the step.

    def __init__(self):
        self._depth = 0
        self._late = []
        self.in_interrupt = False

    def __enter__(self):
        self._depth += 1
        if self.in_interrupt:
            # The simulated hardware is no firmware: it may allocate
            micropython.heap_unlock()

    def __exit__(self, _kind, _fault, _trace):
        if self.in_interrupt:
            micropython.heap_lock()
        self._depth -= 1
        while self._late and not self._depth and not self.in_interrupt:
            self._late.pop(0).run()

    @property
    def is_open(self):
        return self._depth > 0

    def puts_off(self, interrupt):
        # Whether that interrupt has to wait for the end of the step
        if not self._depth:
            return False
        if interrupt not in self._late:
            self._late.append(interrupt)
        return True


step = _Step()


class Interrupt:
    def __init__(self, callback, report):
        self._callback = callback
        self._report = report
        self.is_due = False

    def fire(self, _argument):
        self.is_due = False
        if not step.puts_off(self):
            self.run()

    def run(self):
        fault = None
        step.in_interrupt = True
        micropython.heap_lock()
        try:
            self._callback(None)
        except Exception as err:
            fault = err
        micropython.heap_unlock()
        step.in_interrupt = False
        if fault is not None:
            self._report(fault)


def _tick(period_ms, interrupt):
    nothing = select.poll()
    # Bound once: this thread must not take memory either
    fire = interrupt.fire
    while True:
        # One wait for all of it: sleeping wakes up every half millisecond
        for _ in nothing.ipoll(period_ms):
            pass
        # As in hardware, one that comes while the one before is still due adds nothing
        if not interrupt.is_due:
            interrupt.is_due = True
            try:
                micropython.schedule(fire, None)
            except RuntimeError:
                interrupt.is_due = False


class Timed:
    # A timer whose period the callback sets anew: slower than asked by up to a millisecond, because
    # a thread of the interpreter waits in whole ones.

    def __init__(self, callback, report):
        self.period_us = 0
        self.is_over = False
        self._interrupt = Interrupt(callback, report)

    def start(self):
        _thread.start_new_thread(self._run, ())

    def _run(self):
        nothing = select.poll()
        interrupt = self._interrupt
        fire = interrupt.fire
        while not self.is_over:
            for _ in nothing.ipoll(max(1, self.period_us // 1000)):
                pass
            if not interrupt.is_due and not self.is_over:
                interrupt.is_due = True
                try:
                    micropython.schedule(fire, None)
                except RuntimeError:
                    interrupt.is_due = False
