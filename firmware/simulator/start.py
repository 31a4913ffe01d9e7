# Starts the firmware as a board would: boot.py, then main.py, in one namespace.
#
# Arguments: the descriptor of the pseudo-terminal, the record, the boot count, the folder that
# holds the firmware and world.json, the link to the terminal, the terminal.

import json
import sys

import wires
import world


def _text(name):
    with open(sys.argv[4] + "/" + name) as file:
        return file.read()


try:
    world.load(json.loads(_text("world.json")), int(sys.argv[3]))
except (ValueError, KeyError, TypeError, AttributeError) as fault:
    wires.reply(json.dumps({"error": str(fault)}))
    sys.exit(1)


def _count_runs():
    # What the firmware runs is counted here, where none of its own limits can hide a repetition
    from node import calls

    run = calls.Calls.run

    def counted(self, method, *rest):
        world.count_run(method)
        return run(self, method, *rest)

    calls.Calls.run = counted


_count_runs()
space = {"__name__": "__main__"}
for name in ("boot.py", "main.py"):
    exec(compile(_text(name), name, "exec"), space)  # noqa: S102  - what a board does at power-on
