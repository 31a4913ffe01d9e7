"""Trace of what a program writes, by strace: its files, their flushes, and what it says.

All strings are hexadecimal, so that a line is never ambiguous. A call that this does not know, of a
file that is watched, ends the trace with an error: nothing is left out unseen.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.lib.bench.paper_cuts import (
    Event,
    FlushEvent,
    NameEvent,
    SaidEvent,
    SizeEvent,
    WriteEvent,
)

_CALLS = (
    "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,"
    "fsync,fdatasync,sync_file_range,unlink,unlinkat,rename,renameat,renameat2,link,linkat"
)
# More than anything that is written at once
_MOST_BYTES = 64 << 20
_UNFINISHED, _RESUMED = " <unfinished ...>", re.compile(r"<\.\.\. \w+ resumed>(.*)")
_LINE = re.compile(r"(\d+) +(.*)")
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\d+)(?:<([^>]*)>)?.*")
_HEX = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_OF_FILE = re.compile(r"(\d+)<([^>]*)>")
_STANDARD_OUTPUT = "1"
# Shared memory of SQLite: gone with its processes, made anew by the next
_VOLATILE = "-shm"


def missing() -> str:
    """Return why nothing can be traced; empty where it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-qq", "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"strace: {done.stderr.strip()}"


def traced(command: Sequence[str], root: Path, log: Path, watched: Path) -> list[Event]:
    """Run a program from the folder `root` to its end; return what it did below `watched`."""
    told = ("-s", str(_MOST_BYTES), "-e", f"trace={_CALLS}", "-o", str(log))
    subprocess.run(
        ["strace", "-f", "-y", "-xx", *told, *command],
        cwd=root,
        check=True,
        stdout=subprocess.PIPE,
    )
    with log.open(encoding="ascii") as lines:
        return list(events(lines, watched))


def events(lines: Iterator[str], watched: Path) -> Iterator[Event]:
    """Yield the events of a trace, each as it ended."""
    begun: dict[str, str] = {}
    for line in lines:
        found = _LINE.fullmatch(line.rstrip("\n"))
        if found is None:
            continue
        process, call = found.groups()
        if call.endswith(_UNFINISHED):
            begun[process] = call.removesuffix(_UNFINISHED)
            continue
        if resumed := _RESUMED.fullmatch(call):
            call = begun.pop(process) + resumed[1]
        if (ended := _CALL.fullmatch(call)) and int(ended[3]) >= 0:
            yield from _of_call(ended[1], ended[2], ended[4] or "", watched)


def _of_call(call: str, words: str, opened: str, watched: Path) -> Iterator[Event]:
    of_file = _OF_FILE.match(words)
    if call == "write" and of_file and of_file[1] == _STANDARD_OUTPUT:
        yield SaidEvent(_bytes(words).decode())
        return
    paths = _paths(call, words, of_file, opened)
    if not any(path.is_relative_to(watched) for path in paths):
        return
    if any(path.name.endswith(_VOLATILE) for path in paths):
        return
    yield from _of_file(call, words, paths)


def _paths(call: str, words: str, of_file: re.Match[str] | None, opened: str) -> list[Path]:
    """Return the files that a call is about."""
    if call in {"openat", "open", "creat"}:
        return [Path(_text(opened))]
    if call.startswith(("unlink", "rename", "link")):
        return [Path(_text(one)) for one, _ in _HEX.findall(words)]
    return [Path(_text(of_file[2]))] if of_file else []


def _of_file(call: str, words: str, paths: list[Path]) -> Iterator[Event]:
    path = paths[0]
    match call:
        case "openat" | "open" | "creat":
            if "O_CREAT" in words:
                yield NameEvent(None, path)
            if "O_TRUNC" in words:
                yield SizeEvent(path, 0)
        case "pwrite64":
            yield WriteEvent(path, int(words.rpartition(", ")[2]), _bytes(words))
        case "ftruncate":
            yield SizeEvent(path, int(words.rpartition(", ")[2]))
        case "fsync" | "fdatasync":
            yield FlushEvent(path)
        case "unlink" | "unlinkat":
            yield NameEvent(path, None)
        case "rename" | "renameat" | "renameat2":
            yield NameEvent(path, paths[1])
        case _:
            raise ValueError(f"{call} of {path} cannot be replayed")


def _bytes(words: str) -> bytes:
    found = _HEX.search(words)
    if found is None or found[2]:
        raise ValueError(f"what was written is not in the trace: {words[:80]}")
    return bytes.fromhex(found[1].replace("\\x", ""))


def _text(hexadecimal: str) -> str:
    return bytes.fromhex(hexadecimal.replace("\\x", "")).decode()
