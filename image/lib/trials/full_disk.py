"""The data partition is full: it answers, says so, and remembers again when there is room."""

from image.lib.emulated.bench import Bench
from image.lib.trials.expectation import expect

_FILE = "/data/full"


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    shell = bench.shell
    # Also what is reserved for root, and what the agent gives up
    fill = f"dd if=/dev/zero of={_FILE} bs=64k 2>/dev/null; dd if=/dev/zero of={_FILE}2 bs=1k"
    shell.run(f"{fill} 2>/dev/null; sync; df -k --output=avail /data | tail -1")
    shell.run("sleep 3; " + fill.replace(_FILE, _FILE + "3") + " 2>/dev/null; sync")
    left = shell.run("df -k --output=avail /data | tail -1").strip()
    answered_s = outside.ask("Hello there", "I only obey a few phrases.")
    state = shell.run("systemctl is-active barnacle.service")
    expect(state == "active", f"the service is {state}")
    said = shell.run("journalctl -b -o cat -u barnacle | grep -ciE 'disk is full|storage is full'")
    shell.run(f"rm -f {_FILE}*; sync")
    outside.ask("remember that my dog is called Rex", "I will remember that.")
    outside.ask("what is my dog called?", "Rex")
    return f"{left} KiB left: answered after {answered_s:.1f} s, said so {said} times, recovered"
