"""The first partition is full: a mistake in the settings is told on it all the same, and mended."""

from agent.provision.firmware import RESERVE_BYTES
from image.lib.emulated.bench import Bench
from image.lib.emulated.shell import Shell
from image.lib.trials.expectation import expect

_FOLDER = "/boot/firmware"
_SETTINGS, _ERRORS = f"{_FOLDER}/barnacle.toml", f"{_FOLDER}/barnacle-errors.txt"
_GOOD = "/run/barnacle-good.toml"
_MISTAKE = "nobody_knows_this"


def run(bench: Bench, amount: int) -> str:
    del amount
    shell = bench.running()
    _written(shell, f"cp {_SETTINGS} {_GOOD}; printf '\\n{_MISTAKE} = 1\\n' >>{_SETTINGS}")
    # With big pieces and then with small ones, until not one block is left
    fill = f"dd if=/dev/zero of={_FOLDER}/full bs=1M; dd if=/dev/zero of={_FOLDER}/full2 bs=512"
    _written(shell, f"({fill}) 2>/dev/null")
    left = shell.run(f"df -k --output=avail {_FOLDER} | tail -1").strip()
    expect(left == "0", f"the partition is not full: {left} KiB are left")
    said = _taken_over(shell)
    expect(_MISTAKE in said, f"barnacle-errors.txt does not name the mistake: {said!r}")
    _written(shell, f"rm -f {_FOLDER}/full*; cat {_GOOD} >{_SETTINGS}; rm {_GOOD}")
    said = _taken_over(shell)
    expect(not said, f"the settings are right, and barnacle-errors.txt says {said!r}")
    reserve = shell.run(f"stat -c %s {_FOLDER}/barnacle-reserve.txt")
    expect(reserve == str(RESERVE_BYTES), f"the room for messages is not kept again: {reserve}")
    return f"0 KiB left: the mistake was named, and gone when mended; {reserve} bytes kept again"


def _written(shell: Shell, change: str) -> None:
    """Change something on the partition, as a PC does that has the card in it."""
    remount = f"mount -o remount,{{}} {_FOLDER}"
    shell.run(f"{remount.format('rw')}; {change}; sync; {remount.format('ro')}")


def _taken_over(shell: Shell) -> str:
    """Have the partition's words taken over as a start does; return the file of errors."""
    shell.run("systemctl restart barnacle-provision.service")
    options = shell.run(f"findmnt -no OPTIONS {_FOLDER}")
    expect(options.startswith("ro"), f"the partition was left writable: {options}")
    return shell.run(f"cat {_ERRORS} 2>/dev/null")
