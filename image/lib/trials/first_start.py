"""A new card with one file edited on it: it starts, has its settings, and the secrets are gone."""

from image.lib import first_boot
from image.lib.emulated.bench import Bench
from image.lib.emulated.faults import GuestFailed
from image.lib.trials.expectation import Missed, expect

# Another trial finds it as an open port, and nobody asked for it here
_NOT_ASKED_FOR = frozenset({"SSH for the key"})
# What is started last, such as the pairing code's service, is still on its way
_PATIENCE_S = 60.0


def run(bench: Bench, amount: int) -> str:
    del amount
    bench.provision()
    secrets = (*first_boot.SECRETS, bench.outside.server.token)
    written = [secret for secret in secrets if bench.card.holds(secret.encode())]
    expect(len(written) == len(secrets) - 1, "the settings were not written to the card")
    took_s = bench.start()
    shell = bench.shell
    state = shell.run("systemctl is-system-running")
    failed = shell.run("systemctl --failed --no-legend --plain")
    expect(state == "running", f"the system is {state}: {failed}")
    for what, look in first_boot.LOOKS.items():
        if what not in _NOT_ASKED_FOR:
            _until_right(bench, what, look)
    # Everything that the kernel has not written yet
    shell.run("sync")
    left = sum(bench.card.holds(secret.encode()) for secret in written)
    expect(not left, f"{left} secrets can be read on the card still")
    grown = shell.run("df -m --output=size /data | tail -1")
    ready = shell.run("systemctl show -P ActiveEnterTimestampMonotonic barnacle.service")
    return (
        f"power to everything started {took_s:.0f} s, the agent ready {int(ready) / 1e6:.0f} s "
        f"after the kernel; {len(first_boot.LOOKS) - 1} looks at what was taken over; the secrets "
        f"are wiped from the FAT partition; /data has grown to {grown.strip()} MiB"
    )


def _until_right(bench: Bench, what: str, look: first_boot.Look) -> None:
    said = [""]

    def is_right() -> bool:
        said[0], found = look(bench.shell.run)
        return found

    try:
        bench.until(is_right, what, _PATIENCE_S)
    except GuestFailed as err:
        raise Missed(f"{what}: {said[0]}") from err
