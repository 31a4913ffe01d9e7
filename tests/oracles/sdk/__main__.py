"""Sends a conversation with a vendor's client and prints what that client understood.

Runs in the environment that holds those clients: `python tests/oracles/sdk NAME < conversation`.
"""

import importlib
import json
import sys


def _main() -> None:
    oracle = importlib.import_module(sys.argv[1])
    print(json.dumps(oracle.ask(json.load(sys.stdin))))  # noqa: T201 - what its caller waits for


_main()
