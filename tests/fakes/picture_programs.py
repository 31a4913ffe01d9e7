"""Programs that take pictures, as their manuals say they behave; each is named by its fault."""

import struct
import zlib
from pathlib import Path

# A JPEG as far as its size: start, a comment, and the first frame
JPEG = (
    b"\xff\xd8\xff\xfe\x00\x04hi\xff\xc0\x00\x11\x08\x03\xc0\x05\x00\x03"
    b"\x01\x22\x00\x02\x11\x01\x03\x11\x01\xff\xd9"
)


def png(width: int, height: int) -> bytes:
    """A picture that says this size; of so many pixels it holds none."""
    data = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = struct.pack(">I", zlib.crc32(b"IHDR" + data))
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + data + end


# `--output -` writes to standard output, all else is said on standard error
_CAMERA = {
    "working": 'cat "$0.jpg"; echo "Mode selection for 1280:960" >&2',
    "without_camera": 'echo "ERROR: *** no cameras available ***" >&2; exit 255',
    "never_ending": "sleep 600 & wait",
    "flooding": "head -c 30000000 /dev/zero",
    "lying": 'echo "<html>no picture</html>"',
    "colourful": r"""printf 'ERROR: \033[31mred\033[0m \342\200\256alert\n' >&2; exit 1""",
    "silent": "exit 0",
}


def install(folder: Path, name: str, behaviour: str, picture: bytes = JPEG) -> str:
    """The folder to search for it; beside it stand the words and the environment it got."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f'#!/bin/sh\necho "$@" >"$0.argv"\nenv >"$0.env"\n{_CAMERA[behaviour]}\n')
    program.chmod(0o755)
    (folder / f"{name}.jpg").write_bytes(picture)
    return str(folder)
