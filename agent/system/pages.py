"""Pages of this process that the kernel may have back.

A page that was read from a file and never written comes from the file again when it is used again.
Of a library, half is used once, while it is loaded. A system without /proc keeps all of them.
"""

import ctypes
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

_SMAPS = Path("/proc/self/smaps")
# Of the line that begins a mapping: its place, its rights, and at the end its file, if it has one
_FIELDS = 6
_MADV_DONTNEED = 4
# What the allocator may keep free at the end of its heap
_KEPT_BYTES = 0


class FileMapping(Struct, frozen=True):
    """A mapping of memory that shows a file as it is."""

    address: int
    length_bytes: int

    def give_back(self) -> None:
        """Let go of its pages: the next use of each reads it again."""
        address, length = ctypes.c_void_p(self.address), ctypes.c_size_t(self.length_bytes)
        ctypes.CDLL(None).madvise(address, length, _MADV_DONTNEED)


def unwritten(path: Path | None = None) -> tuple[FileMapping, ...]:
    """Return the mappings of files in which nothing was ever written.

    Args:
        path: only those of this file; else those that nobody can write in either.
    """
    return tuple(_mappings("" if path is None else str(path.resolve())))


def give_back() -> None:
    """Give back what was read of programs and libraries, and what the allocator holds free."""
    for mapping in unwritten():
        mapping.give_back()
    # Only the C library of GNU has it
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(ctypes.c_size_t(_KEPT_BYTES))


def _mappings(name: str) -> Iterator[FileMapping]:
    try:
        lines = _SMAPS.read_text(errors="replace").splitlines()
    except OSError:
        return
    start = end = 0
    for line in lines:
        fields = line.split(maxsplit=_FIELDS - 1)
        if "-" in fields[0]:
            file, rights = fields[-1] if len(fields) == _FIELDS else "", fields[1]
            is_wanted = file == name if name else file.startswith("/") and "w" not in rights
            start, end = (int(one, 16) for one in fields[0].split("-")) if is_wanted else (0, 0)
        elif end and fields[:2] == ["Anonymous:", "0"]:
            yield FileMapping(start, end - start)
