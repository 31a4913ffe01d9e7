"""A new card with one file edited on it: it starts, has its settings, and the secrets are gone."""

from image.lib.emulated.bench import KEY, Bench
from image.lib.trials.expectation import expect

_CONDITION = "systemctl show -P ActiveState -P SubState -P Result barnacle-provision.service"


def run(bench: Bench, amount: int) -> str:
    del amount
    bench.provision()
    expect(bench.card.holds(KEY.encode()), "the settings were not written to the card")
    took_s = bench.start()
    shell = bench.shell
    state = shell.run("systemctl is-system-running")
    failed = shell.run("systemctl --failed --no-legend --plain")
    expect(state == "running", f"the system is {state}: {failed}")
    expect(shell.run("hostname") == "greenhouse", "the name in the file was not taken over")
    errors = shell.run("cat /boot/firmware/barnacle-errors.txt 2>/dev/null")
    expect(not errors, f"the file was not taken over: {errors}")
    token = bench.outside.server.token
    for what, secret in (("key", KEY), ("token", token)):
        # Everything that the kernel has not written yet
        shell.run("sync")
        expect(not bench.card.holds(secret.encode()), f"the {what} can be read on the card still")
    grown = shell.run("df -m --output=size /data | tail -1")
    ready = shell.run("systemctl show -P ActiveEnterTimestampMonotonic barnacle.service")
    return (
        f"power to everything started {took_s:.0f} s, agent ready {int(ready) / 1e6:.0f} s after "
        f"the kernel; secrets wiped from the FAT partition; /data grown to {grown.strip()} MiB"
    )
