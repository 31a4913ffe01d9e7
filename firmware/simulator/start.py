# Starts the firmware as a board would: boot.py, then main.py, in one namespace.
#
# Arguments: the descriptor of the pseudo-terminal, the record, the boot count, the folder that
# holds the firmware, world.json and part.json, the link to the terminal, the terminal, the file of
# the flash, the reset cause (0: what the world says). The part is null for the simulated board,
# which has slots of raw flash and plain files.

import json
import os
import sys

import interrupts
import machine  # noqa: F401  - a board has it before it has any file
import wires
import world

interrupts.collect_often()


def _text(name):
    with open((sys.argv[4] + "/" if sys.argv[4] else "") + name) as file:
        return file.read()


try:
    world.load(json.loads(_text("world.json")), int(sys.argv[3]), int(sys.argv[8]))
except (ValueError, KeyError, TypeError, AttributeError) as fault:
    wires.reply(json.dumps({"error": str(fault)}))
    sys.exit(1)


def _play(name):
    exec(compile(_text(name), name, "exec"), _space)  # noqa: S102  - what a board does at power-on


def _count_runs():
    # What the firmware runs is counted here, where none of its own limits can hide a repetition
    from node import calls  # noqa: PLC0415  - the one that boot.py has put onto the path

    run = calls.Calls.run

    def counted(self, method, *rest):
        world.count_run(method)
        return run(self, method, *rest)

    calls.Calls.run = counted


def _follow_pins():
    # The record speaks of configured pins by their names
    from node import pins  # noqa: PLC0415  - as above

    apply = pins.Pins.apply

    def followed(self, entries):
        world.rewire(entries)
        return apply(self, entries)

    pins.Pins.apply = followed


def _enter_files():
    # The file system of the simulated board, beside the file of its flash
    import raw_slots  # noqa: F401, PLC0415  - no other board has them

    folder = sys.argv[7] + ".files"
    try:
        os.mkdir(folder)
    except OSError:
        pass
    os.chdir(folder)


_part = json.loads(_text("part.json"))
_space = {"__name__": "__main__"}
# The world's; the firmware is to find the one of its own slot
del sys.modules["board"]
if _part is None:
    _enter_files()
else:
    import stm32

    stm32.enter(sys.argv[7], _part, sys.argv[4] + "/installed")
    # Where the firmware is frozen in, boot.py and main.py are no files of the board's
    sys.argv[4] = stm32.HOST + sys.argv[4] if _part["is_frozen"] else ""
    _ballast = stm32.limit_memory(_part["heap_bytes"])
_play("boot.py")
# Joined files have no such names: what a board of its own kind runs is counted by nobody
if not _space["stay_at_prompt"] and _part is None:
    _count_runs()
    _follow_pins()
_play("main.py")
if world.is_watched():
    # A prompt that the watchdog ends
    wires.restart()
