"""Runner that a systemd socket starts for each job: it runs one program, reports, and ends.

Its standard input is the connection. It takes one line of JSON and the three descriptors that the
job reads and writes, and answers with one line. The caller closes the connection to end the job.
Imports nothing of the agent: the unit is the sandbox, and the program starts for each job.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence

MAX_REQUEST_BYTES = 64 * 1024
DESCRIPTORS = 3
# Given by the unit: refuse to work where other processes could be seen or ended
ALONE = "--alone"
BAD_REQUEST, NOT_ALONE, NOT_STARTED = 3, 4, 5


def main(arguments: Sequence[str], connection: socket.socket) -> int:
    """Serve one job; return the runner's own exit status."""
    if ALONE in arguments and os.getpid() != 1:
        _answer(connection, {"error": "the unit sees other processes: systemd is too old"})
        return NOT_ALONE
    line, streams = _request(connection)
    try:
        asked = json.loads(line)
        argv = [str(word) for word in asked["argv"]]
        environment = {str(name): str(value) for name, value in asked["environment"].items()}
        folder = str(asked["folder"])
        program = argv[0]
        given, out, err = streams
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        _answer(connection, {"error": "the request is invalid"})
        return BAD_REQUEST
    try:
        child = subprocess.Popen(  # noqa: S603 - what is run is the caller's to decide
            argv,
            executable=program,
            stdin=given,
            stdout=out,
            stderr=err,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        _answer(connection, {"error": f"the job cannot be started: {error}"})
        return NOT_STARTED
    # Whoever reads must see the end as soon as the job is done
    for handle in streams:
        os.close(handle)
    _answer(connection, {"exit": _ended(child, connection)})
    return 0


def _request(connection: socket.socket) -> tuple[bytes, list[int]]:
    line, streams, _, _ = socket.recv_fds(connection, MAX_REQUEST_BYTES, DESCRIPTORS)
    while not line.endswith(b"\n") and len(line) < MAX_REQUEST_BYTES:
        piece = connection.recv(MAX_REQUEST_BYTES)
        if not piece:
            break
        line += piece
    return line, list(streams)


def _ended(child: "subprocess.Popen[bytes]", connection: socket.socket) -> int:
    """Return the job's status when it is done or nobody waits any more."""
    done = os.pidfd_open(child.pid)
    # A word from whoever asked is its end as well: there is nothing more to say
    select.select([done, connection.fileno()], [], [])
    os.close(done)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    return child.wait()


def _answer(connection: socket.socket, told: dict[str, object]) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(json.dumps(told).encode() + b"\n")


if __name__ == "__main__":  # pragma: no cover - a process of its own, started by a socket
    sys.exit(main(sys.argv[1:], socket.socket(fileno=os.dup(0))))
