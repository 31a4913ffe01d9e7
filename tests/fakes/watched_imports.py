"""The agent, with every module of ours that its event loop loads written down, one to a line.

Started as a program; the file is named by the surroundings.
"""

import os
import sys
import threading

from agent.cli.main import main


def watch(path: str) -> None:
    """Write down what the main thread imports from now on."""
    loop = threading.get_ident()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def heard(event: str, given: tuple[object, ...]) -> None:
        if event == "import" and threading.get_ident() == loop:
            os.write(file, f"{given[0]}\n".encode())

    sys.addaudithook(heard)


if __name__ == "__main__":
    watch(os.environ["WATCHED_IMPORTS"])
    sys.exit(main())
