"""Code of a link in a file of systemd's runtime folder, for the device's own screen.

On a card a unit shows it (`agent.provision.signal_display`); elsewhere nobody
reads it. The code is a secret: the file is the agent's own, in memory, and goes with the code.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

NAME = "signal-link"
_PRIVATE = 0o600


class ShownCode:
    """The file.

    Args:
        environ: tells the folder, where systemd has started the agent.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        folder = environ.get("RUNTIME_DIRECTORY", "").partition(":")[0]
        self._path = Path(folder, NAME) if folder else None

    def show(self, uri: str) -> None:
        """Have the code, or nothing, on the screen; without one that works, the page is enough."""
        if self._path is None:
            return
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
            if uri:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with os.fdopen(os.open(self._path, flags, _PRIVATE), "w") as file:
                    file.write(uri)
