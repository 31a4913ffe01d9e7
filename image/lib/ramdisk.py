"""What the initial RAM disk gets on top of Debian's: the data partition, before anything starts.

The kernel reads several archives one after the other; ours is the last one, not compressed.
"""

from pathlib import Path

from image.lib.layout import DATA

_SCRIPT = Path(__file__).with_name("data-partition.sh")
_ORDER = (
    '/scripts/local-bottom/data-partition "$@"\n[ -e /conf/param.conf ] && . /conf/param.conf\n'
)
_FOLDER, _PROGRAM, _FILE = 0o040755, 0o100755, 0o100644
_ALIGNMENT = 4


def with_data_partition(initrd: bytes) -> bytes:
    """An initial RAM disk that also checks and mounts the data partition."""
    script = _SCRIPT.read_text().replace("@DATA@", DATA.partuuid)
    return _padded(initrd) + archive(
        (
            ("scripts/local-bottom", _FOLDER, b""),
            ("scripts/local-bottom/ORDER", _FILE, _ORDER.encode()),
            ("scripts/local-bottom/data-partition", _PROGRAM, script.encode()),
        )
    )


def archive(entries: tuple[tuple[str, int, bytes], ...]) -> bytes:
    """A cpio archive in the form that the kernel reads."""
    written = b""
    for inode, (name, mode, content) in enumerate((*entries, ("TRAILER!!!", 0, b"")), start=1):
        path = name.encode() + b"\0"
        links = 2 if mode == _FOLDER else 1
        fields = (inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(path), 0)
        header = b"070701" + b"".join(f"{field:08x}".encode() for field in fields)
        written += _padded(header + path) + _padded(content)
    return written


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % _ALIGNMENT)
