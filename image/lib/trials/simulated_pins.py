"""The header's pins are found by the name of their chip: gpio-sim stands for that of a Pi 5."""

from image.lib.emulated.bench import READY, Bench
from image.lib.emulated.shell import Shell
from image.lib.trials.expectation import expect

_LABEL = "pinctrl-rp1"
# The lamp of the settings
_LINE = 5
_LINES = 54
_CONFIG = "/sys/kernel/config/gpio-sim/pi"
# An emulated machine starts the agent in half a minute
_RESTART_S = 180.0


def run(bench: Bench, amount: int) -> str:
    del amount
    outside = bench.with_board()
    shell = bench.shell
    line = _plugged(shell)
    try:
        _restarted(bench)
        seen = []
        for value in ("on", "off"):
            outside.ask(
                f'use gpio_write {{"pin": "lamp", "value": "{value}"}}', f'"value":"{value}"'
            )
            seen.append(shell.run(f"cat {line}/value"))
    finally:
        # A chip that goes away under the agent is no matter of this trial
        shell.run("systemctl stop barnacle.service")
        shell.run(f"echo 0 >{_CONFIG}/live; rmdir {_CONFIG}/bank0 {_CONFIG}")
        _restarted(bench)
    expect(seen == ["1", "0"], f"the line of the simulated chip was {seen}")
    return f"GPIO {_LINE} of the chip {_LABEL} went on and off, beside the machine's own chip"


def _plugged(shell: Shell) -> str:
    """Make the chip; return the folder of its line."""
    shell.run(
        "modprobe gpio-sim; mountpoint -q /sys/kernel/config || "
        "mount -t configfs none /sys/kernel/config"
    )
    shell.run(
        f"mkdir -p {_CONFIG}/bank0 && echo {_LINES} >{_CONFIG}/bank0/num_lines && "
        f"echo {_LABEL} >{_CONFIG}/bank0/label && echo 1 >{_CONFIG}/live"
    )
    device = shell.run(f"cat {_CONFIG}/dev_name").strip()
    chip = shell.run(f"cat {_CONFIG}/bank0/chip_name").strip()
    expect(chip.startswith("gpiochip"), f"gpio-sim made no chip: {chip or 'nothing'}")
    return f"/sys/devices/platform/{device}/{chip}/sim_gpio{_LINE}"


def _restarted(bench: Bench) -> None:
    bench.shell.run("systemctl restart barnacle.service")
    bench.until_status(READY, _RESTART_S)
