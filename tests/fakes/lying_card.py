"""Card that turned read-only under open files: the kernel takes each write, and keeps none."""

import os

import pytest


def turn_read_only(patch: pytest.MonkeyPatch) -> None:
    """Let every file system say that it is read-only, while writes and flushes seem to succeed."""
    real = os.statvfs

    def read_only(place: str | os.PathLike[str] | int) -> os.statvfs_result:
        told = real(place)
        return os.statvfs_result((*told[:8], told.f_flag | os.ST_RDONLY, told.f_namemax))

    patch.setattr(os, "statvfs", read_only)
