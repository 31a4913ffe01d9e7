"""Parts of a lock: some of its packages with their hashes, or all but some."""

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

# Published without a wheel for Python 3.13, which Debian 13 has; the Pi's own pins need it.
# Raspberry Pi OS packages it, Debian does not, and the image compiles it
NO_WHEEL = frozenset({"lgpio"})


def without(lock: str, names: AbstractSet[str]) -> str:
    return "".join(block for name, block in _blocks(lock) if name not in names)


def only(lock: str, names: AbstractSet[str]) -> str:
    return "".join(block for name, block in _blocks(lock) if name in names)


def pins(lock: str) -> str:
    """Return the pins of the lock without hashes: constraints for a resolver."""
    lines = (block.splitlines()[0] for _, block in _blocks(lock))
    return "".join(line.rstrip(" \\") + "\n" for line in lines)


def _blocks(lock: str) -> Iterator[tuple[str, str]]:
    for block in re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE):
        if block.strip():
            yield block.split("==")[0], block
