"""The started system: no failed unit, only the listed ports, memory, what is writable, accounts."""

import re

from image.lib.emulated.bench import Bench
from image.lib.emulated.shell import Shell
from image.lib.layout import RING_BYTES
from image.lib.trials.expectation import expect

# The resolver's own, to this machine alone and for its name in the house; the pages for browsers
_PORTS = frozenset({"127.0.0.53:53", "127.0.0.54:53", "0.0.0.0:5353", "[::]:5353", "*:80"})
# A DHCP client's, bound to the address that it was given
_CLIENT_PORTS = (":68", ":546")
_MOST_MEMORY_MIB = 320
_ON_DATA = ("/var/lib/barnacle", "/var/lib/systemd", "/etc/barnacle", "/etc/machine-id")
# Of a start, in its order: what systemd says when it is reached, in Debian's form
_STAGES = (
    ("data mounted", "Reached target local-fs.target"),
    ("sysinit", "Reached target sysinit.target"),
    ("agent begun", "Starting barnacle.service"),
    ("agent ready", "Started barnacle.service"),
)
_SAYS = "|".join(said for _, said in _STAGES)
_ABSENT = "not in the journal"
_STAMP = re.compile(r"\[ *(\d+\.\d+)\]")


def run(bench: Bench, amount: int) -> str:
    del amount
    shell = bench.running()
    failed = shell.run("systemctl --failed --no-legend --plain | cut -d' ' -f1").split()
    expect(not failed, f"units have failed: {failed}")
    refused = shell.run("touch /usr/x /etc/x 2>&1 | grep -c 'Read-only file system'")
    expect(refused == "2", "the system can be written")
    sources = shell.run(f"for at in {' '.join(_ON_DATA)}; do findmnt -no SOURCE $at; done")
    expect(sources.count("/dev/") == len(_ON_DATA), f"not all on the data partition: {sources}")
    passwords = shell.run("cut -d: -f2 /etc/shadow | grep -vc '^[!*]'")
    expect(passwords == "0", f"{passwords} accounts have a password")
    ring = shell.run("stat -Lc %G:%a /dev/barnacle-ring; blockdev --getsize64 /dev/barnacle-ring")
    expect(ring.split() == ["barnacle:660", str(RING_BYTES)], f"the place of readings: {ring}")
    version = shell.run("barnacle --version 2>&1 | tail -1")
    expect(version.startswith("barnacle "), f"barnacle --version said {version}")
    tainted = shell.run("cat /proc/sys/kernel/tainted")
    expect(tainted == "0", f"the kernel is tainted: {tainted}")
    slow = "; ".join(shell.run("systemd-analyze blame --no-pager | head -3").split("\n"))
    log = shell.run(f"journalctl -q -b --no-pager -o short-monotonic _PID=1 | grep -E '{_SAYS}'")
    told = f"{_ports(shell)}; {_memory(shell)}; {version}; slowest units: {slow}"
    stages = stages_of(log)
    expect(_ABSENT not in stages, f"a stage of the start is not in the journal: {stages}")
    return f"{told}; since the kernel began: {stages}"


def stages_of(log: str) -> str:
    """Return when each stage of a start was reached first, from systemd's lines in the journal."""
    told = []
    for name, said in _STAGES:
        line = next((one for one in log.splitlines() if said in one), "")
        at = _STAMP.search(line)
        told.append(f"{name} {float(at[1]):.1f} s" if at else f"{name} {_ABSENT}")
    return ", ".join(told)


def _ports(shell: Shell) -> str:
    listed = shell.run("ss -Hltun | while read -r _ _ _ _ local _; do echo $local; done")
    ports = {port.replace("%lo", "").replace("%eth0", "") for port in listed.split()}
    ports = {port for port in ports if not port.endswith(_CLIENT_PORTS)}
    expect(ports <= _PORTS, f"open ports that nobody listed: {sorted(ports - _PORTS)}")
    return f"ports {' '.join(sorted(ports)) or 'none'}"


def _memory(shell: Shell) -> str:
    total, used = shell.memory_mib()
    agent = int(shell.run("systemctl show -P MemoryCurrent barnacle.service")) / 2**20
    expect(used <= _MOST_MEMORY_MIB, f"{used} MiB of memory are in use")
    return f"memory {used} MiB used of {total}, the agent's group {agent:.0f}"
