import random
import sys
from pathlib import Path

import pytest

from scripts.lib.bench.paper_cuts import (
    Event,
    Fate,
    FlushEvent,
    NameEvent,
    PaperDisk,
    SaidEvent,
    SizeEvent,
    WriteEvent,
)
from scripts.lib.bench.write_trace import events, missing, traced

FOLDER = Path("/state")
FILE, OTHER = FOLDER / "file", FOLDER / "other"


def cut(happened: list[Event], fate: Fate, seed: int = 1) -> dict[Path, bytes]:
    disk = PaperDisk([(FILE, b"old")])
    for event in happened:
        disk.advance(event)
    return disk.cut(random.Random(seed), fate)


def test_what_was_flushed_is_there_whatever_happens() -> None:
    happened: list[Event] = [WriteEvent(FILE, 0, b"new!"), FlushEvent(FILE)]
    for fate in Fate:
        assert cut(happened, fate) == {FILE: b"new!"}


def test_what_was_not_flushed_is_there_or_not() -> None:
    happened: list[Event] = [WriteEvent(FILE, 0, b"new!"), WriteEvent(FILE, 4, b"more")]
    assert cut(happened, Fate.NONE) == {FILE: b"old"}
    assert cut(happened, Fate.ALL) == {FILE: b"new!more"}
    found = {cut(happened, Fate.SOME_WRITES, seed)[FILE] for seed in range(40)}
    # The second one alone leaves what was between
    assert found == {b"old", b"new!", b"new!more", b"old\0more"}


def test_a_write_is_torn_at_sectors() -> None:
    happened: list[Event] = [WriteEvent(FILE, 0, b"a" * 512 + b"b" * 512)]
    found = {cut(happened, Fate.SOME_SECTORS, seed)[FILE] for seed in range(40)}
    assert found == {
        *(b"old", b"a" * 512, b"a" * 512 + b"b" * 512),
        b"old".ljust(512, b"\0") + b"b" * 512,
    }


def test_a_length_is_flushed_like_a_write() -> None:
    happened: list[Event] = [SizeEvent(FILE, 1)]
    assert cut(happened, Fate.NONE) == {FILE: b"old"}
    assert cut(happened, Fate.ALL) == {FILE: b"o"}


def test_a_name_is_there_when_its_folder_was_flushed() -> None:
    made: list[Event] = [NameEvent(None, OTHER), WriteEvent(OTHER, 0, b"x"), FlushEvent(OTHER)]
    assert cut(made, Fate.NONE) == {FILE: b"old"}
    assert cut([*made, FlushEvent(FOLDER)], Fate.NONE) == {FILE: b"old", OTHER: b"x"}
    renamed: list[Event] = [*made, FlushEvent(FOLDER), NameEvent(OTHER, FILE)]
    assert cut(renamed, Fate.NONE) == {FILE: b"old", OTHER: b"x"}
    assert cut(renamed, Fate.ALL) == {FILE: b"x"}
    removed: list[Event] = [NameEvent(FILE, None)]
    assert cut(removed, Fate.NONE) == {FILE: b"old"}
    assert cut(removed, Fate.ALL) == {}


def hexadecimal(text: str) -> str:
    return "".join(f"\\x{one:02x}" for one in text.encode())


def test_a_call_that_was_interrupted_counts_when_it_ended() -> None:
    path, data = hexadecimal("/state/file"), hexadecimal("new")
    lines = [
        f'7 pwrite64(5<{path}>, "{data}", 3, 4096 <unfinished ...>\n',
        f'8 write(1<{hexadecimal("pipe:[1]")}>, "{hexadecimal("37")}", 2) = 2\n',
        "7 <... pwrite64 resumed>) = 3\n",
        f"7 fdatasync(5<{path}>) = 0\n",
        "7 +++ exited with 0 +++\n",
    ]
    assert list(events(iter(lines), FOLDER)) == [
        SaidEvent("37"),
        WriteEvent(FILE, 4096, b"new"),
        FlushEvent(FILE),
    ]


def test_a_call_that_is_not_known_is_never_left_out() -> None:
    line = f"7 fallocate(5<{hexadecimal('/state/file')}>, 0, 0, 4096) = 0\n"
    with pytest.raises(ValueError, match="cannot be replayed"):
        list(events(iter([line]), FOLDER))


@pytest.mark.skipif(bool(missing()), reason="strace cannot trace here")
def test_a_program_is_traced(tmp_path: Path) -> None:
    watched = tmp_path / "state"
    watched.mkdir()
    program = (
        "import os\n"
        f"handle = os.open({str(watched / 'file')!r}, os.O_RDWR | os.O_CREAT)\n"
        "os.pwrite(handle, b'\\0new', 7); os.fsync(handle); os.ftruncate(handle, 2)\n"
        f"os.rename({str(watched / 'file')!r}, {str(watched / 'other')!r}); os.write(1, b'done')\n"
    )
    file, other = watched / "file", watched / "other"
    assert traced([sys.executable, "-c", program], tmp_path, tmp_path / "log", watched) == [
        NameEvent(None, file),
        WriteEvent(file, 7, b"\0new"),
        FlushEvent(file),
        SizeEvent(file, 2),
        NameEvent(file, other),
        SaidEvent("done"),
    ]
