"""Additions to Debian's initial RAM disk: the data partition, and a trial's first step.

The kernel reads several archives one after the other; ours is the last one, not compressed.
"""

from pathlib import Path

from image.lib.layout import filled_in

_DATA = Path(__file__).with_name("data-partition.sh")
_TURN = Path(__file__).with_name("first-turn.sh")
_IN_ORDER = '/scripts/{} "$@"\n[ -e /conf/param.conf ] && . /conf/param.conf\n'
_FOLDER, _PROGRAM, _FILE = 0o040755, 0o100755, 0o100644
_ALIGNMENT = 4


def with_data_partition(initrd: bytes) -> bytes:
    """An initial RAM disk that also mounts the data partition, and knows what a trial is."""
    data = data_partition()
    turn = filled_in(_TURN.read_text())
    # Debian's own script before the root is mounted looks for a hibernated system: there is none
    return _padded(initrd) + archive(
        (
            *_step("local-premount", "first-turn", turn),
            *_step("local-bottom", "data-partition", data),
        )
    )


def data_partition() -> str:
    """The script with its places filled in."""
    return filled_in(_DATA.read_text())


def _step(stage: str, name: str, script: str) -> tuple[tuple[str, int, bytes], ...]:
    """A script, and the list of its stage with it alone."""
    order = _IN_ORDER.format(f"{stage}/{name}")
    return (
        (f"scripts/{stage}", _FOLDER, b""),
        (f"scripts/{stage}/ORDER", _FILE, order.encode()),
        (f"scripts/{stage}/{name}", _PROGRAM, script.encode()),
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
