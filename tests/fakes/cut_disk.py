"""A disk on which the n-th operation fails, and what a cut at that moment may leave of a folder.

The kernel's cache is the real folder; what reaches the disk without a sync is up to chance, so
every chance is tried: content dropped, halved or whole, and of the folder's own changes the first
few in their order.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import pytest

State = dict[str, bytes]


class PowerCut(BaseException):
    """Nothing comes after it."""


class _File:
    """One file by whatever name; `synced` is what a cut cannot take."""

    def __init__(self, content: bytes) -> None:
        self.synced = content
        self.cached = content

    def chances(self) -> set[bytes]:
        return {self.synced, b"", self.cached[: len(self.cached) // 2], self.cached}

    @property
    def is_synced(self) -> bool:
        return self.synced == self.cached


class CutDisk:
    """Counts what is done to one folder.

    Args:
        fails_at: the operation that fails, counted from 1.
        failure: raised by it; after a `PowerCut` everything else fails too.
    """

    def __init__(self, folder: Path, fails_at: int, failure: BaseException) -> None:
        self.done: list[str] = []
        self.has_failed = False
        self._folder = folder
        self._fails_at = fails_at
        self._failure = failure
        there = {path.name: _File(path.read_bytes()) for path in folder.iterdir()}
        # The folder on the disk first, then as each change since its last sync left it
        self._folders = [there]
        self._files: dict[int, _File] = {}
        self._patch = pytest.MonkeyPatch()

    def __enter__(self) -> Self:
        for name in ("open", "fdopen", "fsync", "replace", "unlink"):
            self._patch.setattr(
                os, name, self._wrapped(getattr(os, name), getattr(self, f"_{name}"))
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        err: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._patch.undo()
        return isinstance(err, PowerCut)

    def states(self) -> Iterator[State]:
        """Every folder that may be found after the cut."""
        for folder in self._folders:
            names = sorted(folder)
            files = [folder[name] for name in names]
            chances = ([one.synced] if one.is_synced else one.chances() for one in files)
            for contents in itertools.product(*chances):
                yield dict(zip(names, contents, strict=True))

    def _wrapped(self, real: Callable[..., Any], noted: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            self._count(real.__name__)
            return noted(real, *args, **kwargs)

        return operation

    def _count(self, name: str) -> None:
        if self.has_failed and isinstance(self._failure, PowerCut):
            raise self._failure
        self.done.append(name)
        if len(self.done) == self._fails_at:
            self.has_failed = True
            raise self._failure

    def _changed(self) -> dict[str, _File]:
        self._folders.append(dict(self._folders[-1]))
        return self._folders[-1]

    def _open(self, real: Callable[..., int], path: Path, flags: int, mode: int = 0o777) -> int:
        handle = real(path, flags, mode)
        # The number may have been another file's before
        self._files.pop(handle, None)
        if not flags & os.O_DIRECTORY:
            name = Path(path).name
            if name not in self._folders[-1]:
                self._changed()[name] = _File(b"")
            file = self._files[handle] = self._folders[-1][name]
            file.cached = self._content(handle)
        return handle

    def _fdopen(self, real: Callable[..., BinaryIO], handle: int, mode: str) -> BinaryIO:
        # Before there is anything in it, nobody else may look into it
        assert os.fstat(handle).st_mode & 0o777 == 0o600
        return _Noting(real(handle, mode, buffering=0), lambda: self._note(handle), self._count)  # type: ignore[return-value]  # the part of a file that is used

    def _fsync(self, real: Callable[[int], None], handle: int) -> None:
        real(handle)
        if handle in self._files:
            self._files[handle].synced = self._content(handle)
        else:
            del self._folders[:-1]

    def _replace(self, real: Callable[..., None], source: Path, target: Path) -> None:
        real(source, target)
        folder = self._changed()
        folder[Path(target).name] = folder.pop(Path(source).name)

    def _unlink(self, real: Callable[..., None], path: Path) -> None:
        real(path)
        del self._changed()[Path(path).name]

    def _note(self, handle: int) -> None:
        self._files[handle].cached = self._content(handle)

    @staticmethod
    def _content(handle: int) -> bytes:
        return Path(f"/proc/self/fd/{handle}").read_bytes()


class _Noting:
    """An open file whose writes are operations too; a failing one has written half."""

    def __init__(
        self, file: BinaryIO, note: Callable[[], None], count: Callable[[str], None]
    ) -> None:
        self._file = file
        self._note = note
        self._count = count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, content: bytes) -> int:
        half = len(content) // 2
        self._file.write(content[:half])
        self._note()
        self._count("write")
        self._file.write(content[half:])
        self._note()
        return len(content)

    def flush(self) -> None:
        self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()
