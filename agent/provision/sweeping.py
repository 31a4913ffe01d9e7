"""Secrets that a PC's editor left behind on the card when it wrote a file anew.

A file that was replaced or deleted stays readable in the raw partition. Looked through once after a
secret was taken over, while the partition is mounted read-only; nothing but the secrets is written.
"""

import logging
import os
from collections.abc import Collection
from pathlib import Path

_log = logging.getLogger(__name__)

_CHUNK_BYTES = 4 * 1024 * 1024
# A shorter one could be part of something else
MIN_SECRET_BYTES = 8


def sweep(partition: Path, secrets: Collection[str]) -> int:
    """Overwrite them with stars wherever they are; how often they were found."""
    wanted = [secret.encode() for secret in secrets if len(secret.encode()) >= MIN_SECRET_BYTES]
    if not wanted:
        return 0
    handle = os.open(partition, os.O_RDWR | os.O_CLOEXEC)
    try:
        places = _find(handle, wanted)
        for at, length in places:
            os.pwrite(handle, b"*" * length, at)
        os.fsync(handle)
    finally:
        os.close(handle)
    if places:
        _log.info("secrets of deleted files were wiped in %d places of the card", len(places))
    return len(places)


def _find(handle: int, wanted: Collection[bytes]) -> set[tuple[int, int]]:
    places = set()
    # What lies across the end of one piece is found in the next one
    overlap = max(map(len, wanted)) - 1
    start = 0
    while len(chunk := os.pread(handle, _CHUNK_BYTES, start)) > overlap:
        for secret in wanted:
            at = chunk.find(secret)
            while at >= 0:
                places.add((start + at, len(secret)))
                at = chunk.find(secret, at + 1)
        start += len(chunk) - overlap
    return places
