"""Files of the kernel beneath a root: `/proc`, `/sys`, `/dev` and `/run`, or a test's folder.

What is not there, or cannot be read, is empty: no machine has all of them. Blocks for as long as a
small file takes.
"""

import math
from pathlib import Path

# Files of the kernel are short; one that is not is not what was meant
MAX_FILE_BYTES = 64 * 1024


class Kernel:
    """Reads by paths without a leading slash."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root

    def text(self, path: str) -> str:
        try:
            with (self.root / path).open("rb") as file:
                return file.read(MAX_FILE_BYTES).decode(errors="replace")
        except (OSError, ValueError):
            return ""

    def word(self, path: str) -> str:
        """The one word of a file that holds no more."""
        return self.text(path).strip()

    def number(self, path: str) -> int | None:
        try:
            return int(self.text(path), 0)
        except ValueError:
            return None

    def exists(self, path: str) -> bool:
        try:
            return (self.root / path).exists()
        except OSError:
            return False

    def matches(self, pattern: str) -> list[str]:
        """Paths that are there, sorted."""
        try:
            found = sorted(self.root.glob(pattern))
        except OSError:
            return []
        return [str(path.relative_to(self.root)) for path in found]


def first_number(text: str) -> float | None:
    """The number that a text begins with, as in `/proc/loadavg` and `/proc/uptime`."""
    try:
        value = float(text.split(maxsplit=1)[0])
    except (IndexError, ValueError):
        return None
    return value if math.isfinite(value) else None
