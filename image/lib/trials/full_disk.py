"""The data partition is full: it answers, says so, and remembers again when there is room."""

from agent.messaging.conversation import NOT_KEPT_TEXT
from agent.storage.reserve import LOW_BYTES
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
    expect(int(left) * 1024 <= LOW_BYTES, f"the partition is not full: {left} KiB are left")
    since = len(outside.shown())
    answered_s = outside.ask("Hello there", "I only obey a few phrases.")
    state = shell.run("systemctl is-active barnacle.service")
    expect(state == "active", f"the service is {state}")
    said = shell.run("journalctl -b -o cat -u barnacle | grep -ciE 'disk full|storage is full'")
    is_told = any(NOT_KEPT_TEXT in one for one in outside.shown()[since:])
    expect(is_told or int(said), "neither the chat nor the journal says that the disk is full")
    shell.run(f"rm -f {_FILE}*; sync")
    outside.ask("remember that my dog is called Rex", "I will remember that.")
    outside.ask("what is my dog called?", "Rex")
    return f"{left} KiB left: answered after {answered_s:.1f} s, said so {said} times, recovered"
