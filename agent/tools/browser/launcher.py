"""Program that becomes the browser, inside its sandbox.

Its standard input is a socket of the agent. It opens a port on the sandbox's own loopback and hands
it to the agent, which answers there as the proxy: the browser has no other way out. It writes the
preferences for which there is no word, and becomes the browser, which the same socket leads.
Imports nothing of the agent.
"""

import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

# Connections that wait to be taken, which is as many as a browser opens at once
_WAITING = 64
# Where a browser of this family reads its orders and writes its answers
_ORDERS, _ANSWERS = 3, 4
_PROFILE = "--user-data-dir="
# Fetch no page ahead: such a request is told to nobody. Chromium reads it, chromium-headless-shell
# has no preferences
_PREFERENCES = {"net": {"network_prediction_options": 2}}


def main(arguments: Sequence[str]) -> None:
    """Hand the port over and become the browser; its program and words are the arguments."""
    control = socket.socket(fileno=os.dup(0))
    door = socket.create_server(("127.0.0.1", 0), backlog=_WAITING)
    proxy = f"--proxy-server=http://127.0.0.1:{door.getsockname()[1]}"
    socket.send_fds(control, [b"\0"], [door.fileno()])
    _write_preferences(arguments)
    # Both are closed by what follows: the copy in the agent is the port now
    os.dup2(0, _ORDERS)
    os.dup2(0, _ANSWERS)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    # Its words are the agent's, and its environment the sandbox's
    os.execv(arguments[0], [*arguments, proxy])  # noqa: S606 - no shell is wanted


def _write_preferences(words: Sequence[str]) -> None:
    for word in words:
        if word.startswith(_PROFILE):
            folder = Path(word.removeprefix(_PROFILE)) / "Default"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "Preferences").write_text(json.dumps(_PREFERENCES))


if __name__ == "__main__":  # pragma: no cover - a process of its own, which becomes another
    main(sys.argv[1:])
