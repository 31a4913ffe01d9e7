"""Starts the image and looks at it: units, ports, memory, what is writable, time to start."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from image.lib.build import CACHE
from image.lib.guest import Guest, GuestFailed, Shell
from scripts.lib.progress import say

# Under emulation and load; a Pi needs a tenth
_START_S = 600.0
_LOOK_S = 5.0
# What systemd-resolved and the DHCP client listen on, to this machine or the local network alone
_PORTS = frozenset({"127.0.0.53:53", "127.0.0.54:53", "0.0.0.0:5353", "[::]:5353"})
_MOST_MEMORY_MIB = 320


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table."""

    what: str
    value: str
    is_right: bool = True


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="image/test", description="Starts the built image in QEMU and looks at it."
    )
    cache = Path(os.environ.get("BARNACLE_IMAGE_CACHE", CACHE))
    parser.add_argument("image", type=Path, nargs="?", default=cache / "barnacle.img")
    parser.add_argument("--keep", type=Path, help="a folder for the console's log")
    given = parser.parse_args(arguments)
    if not given.image.exists():
        say(f"there is no {given.image}: image/build makes it")
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="barnacle-image-") as folder:
            work = given.keep or Path(folder)
            work.mkdir(parents=True, exist_ok=True)
            findings = _look(given.image, work)
    except GuestFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    for finding in findings:
        print(f"{'ok ' if finding.is_right else 'BAD'} {finding.what:28} {finding.value}")
    return 0 if all(finding.is_right for finding in findings) else 1


def _look(image: Path, work: Path) -> list[Finding]:
    with Guest(image, work) as guest:
        say("started; an emulated Pi needs some minutes")
        shell = guest.wait_for_shell(_START_S)
        say(f"its shell is there after {time.monotonic() - guest.started_s:.0f} s")
        state = _settled(guest, shell)
        took_s = time.monotonic() - guest.started_s
        start = Finding("power to started", f"{took_s:.0f} s, {state}", state == "running")
        return [start, *(_finding(shell, what, look) for what, look in _LOOKS.items())]


def _settled(guest: Guest, shell: Shell) -> str:
    while time.monotonic() - guest.started_s < _START_S:
        state = shell.run("systemctl is-system-running")
        if state not in {"starting", "initializing"}:
            return state
        time.sleep(_LOOK_S)
    return "still starting: " + shell.run("systemctl --no-legend list-jobs | head")


def _finding(shell: Shell, what: str, look: Callable[[Shell], tuple[str, bool]]) -> Finding:
    value, is_right = look(shell)
    return Finding(what, value, is_right)


def _agent(shell: Shell) -> tuple[str, bool]:
    shown = shell.run("systemctl show -P ActiveState -P StatusText barnacle.service")
    # systemd's order, not the one that was asked for
    text, _, state = shown.rpartition("\n")
    return f"{state}: {text.strip()}", state == "active"


def _failed(shell: Shell) -> tuple[str, bool]:
    failed = shell.run("systemctl --failed --no-legend --plain | cut -d' ' -f1")
    return " ".join(failed.split()) or "none", not failed


def _ports(shell: Shell) -> tuple[str, bool]:
    listed = shell.run("ss -Hltun | while read -r _ _ _ _ local _; do echo $local; done")
    ports = {port.replace("%lo", "") for port in listed.split()}
    # A DHCP client's own port, bound to the address that it was given
    ports = {port for port in ports if not port.endswith((":68", ":546"))}
    return " ".join(sorted(ports)) or "none", ports <= _PORTS


def _memory(shell: Shell) -> tuple[str, bool]:
    words = shell.run("free -m | head -2 | tail -1").split()
    used = int(words[2])
    return f"{used} MiB used of {words[1]}", used <= _MOST_MEMORY_MIB


def _score(unit: str) -> Callable[[Shell], tuple[str, bool]]:
    def look(shell: Shell) -> tuple[str, bool]:
        last = shell.run(f"systemd-analyze security --no-pager {unit} | tail -1")
        return last.partition(": ")[2] or last, bool(last)

    return look


def _read_only(shell: Shell) -> tuple[str, bool]:
    tried = shell.run("touch /usr/x /etc/x 2>&1 | grep -c 'Read-only file system'")
    return f"{tried} of 2 writes refused", tried == "2"


def _on_data(shell: Shell) -> tuple[str, bool]:
    wanted = ("/var/lib/barnacle", "/var/lib/systemd", "/etc/barnacle", "/etc/machine-id")
    sources = shell.run(
        f"for at in {' '.join(wanted)}; do findmnt -no SOURCE $at || echo missing $at; done"
    )
    lines = sources.splitlines()
    return f"{len(lines)} folders", len(lines) == len(wanted) and all(
        "/dev/" in line for line in lines
    )


def _password(shell: Shell) -> tuple[str, bool]:
    count = shell.run("cut -d: -f2 /etc/shadow | grep -vc '^[!*]'")
    return f"{count} with a password", count == "0"


def _version(shell: Shell) -> tuple[str, bool]:
    said = shell.run("barnacle --version 2>&1 | tail -1")
    return said, said.startswith("barnacle ")


_LOOKS: dict[str, Callable[[Shell], tuple[str, bool]]] = {
    "the agent": _agent,
    "failed units": _failed,
    "open ports": _ports,
    "memory": _memory,
    "system is read-only": _read_only,
    "kept on the data partition": _on_data,
    "accounts": _password,
    "barnacle --version": _version,
    "score of the service": _score("barnacle.service"),
    "slowest units": lambda shell: (
        "; ".join(shell.run("systemd-analyze blame | head -3").split("\n")),
        True,
    ),
}
