"""Sends a conversation with a vendor's client and prints what that client understood.

Runs in the environment that holds those clients: `python tests/oracles/sdk NAME < conversation`.
With `--lines` each line of the input is one, and each line of the output what became of it.
"""

import importlib
import json
import sys


def _main() -> None:
    oracle = importlib.import_module(sys.argv[1])
    talks = sys.stdin if "--lines" in sys.argv else (sys.stdin.read(),)
    for talk in talks:
        told = json.dumps(oracle.ask(json.loads(talk)))
        print(told, flush=True)  # noqa: T201 - what its caller waits for


_main()
