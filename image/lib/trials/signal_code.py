"""A code that links Signal is on the screen while the agent has one, and gone with it."""

import re
import time

from agent.channels.signal import shown_code
from agent.text.qr_lines import qr_lines
from image.lib.emulated.bench import Bench
from image.lib.trials.expectation import expect

# As long as one of signal-cli; nobody has to scan it
_LINK = f"sgnl://linkdevice?uuid={'Q2hlY2tlZA' * 2}%3D%3D&pub_key=BQ{'abcdefghij' * 4}k"
_CODE = f"/run/barnacle/{shown_code.NAME}"
_UNIT = "barnacle-signal-code"
_ASKED, _OVER = "Scan this code", "counts no more"
# What a person sees, in letters
_SCREEN = (
    "/opt/barnacle/bin/python -I -c "
    '\'print(ascii(open("/dev/vcsu1", "rb").read().decode("utf-32-le")))\''
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# An interpreter starts, emulated
_SHOWN_S = 120.0


def run(bench: Bench, amount: int) -> str:
    del amount
    shell = bench.running()
    begun_s = time.monotonic()
    # As the agent lends one
    put = f"install -m 600 -o barnacle -g barnacle /dev/stdin {_CODE}"
    shell.run(f"printf %s '{_LINK}' | {put}")
    bench.until(lambda: _ASKED in shell.run(_SCREEN), "no code is on the screen", _SHOWN_S)
    shown_s = time.monotonic() - begun_s
    screen = shell.run(_SCREEN)
    lines = [ascii(_COLOURS.sub("", line)).strip("'") for line in qr_lines(_LINK)]
    lost = [number for number, line in enumerate(lines, 1) if line not in screen]
    expect(not lost, f"lines {lost} of the code's {len(lines)} are not on the screen: {screen}")
    expect(shell.run(f"systemctl is-active {_UNIT}.service") == "active", "its unit has ended")
    shell.run(f"rm {_CODE}")
    bench.until(lambda: _OVER in shell.run(_SCREEN), "the code stays on the screen", _SHOWN_S)
    bench.until(
        lambda: shell.run(f"systemctl is-active {_UNIT}.service") == "inactive",
        "its unit goes on without a code",
        _SHOWN_S,
    )
    complained = shell.run(f"journalctl -b -o cat -p warning -u {_UNIT}.service | tail -1")
    expect(not complained, f"it complained: {complained}")
    return (
        f"its {len(lines)} lines are on the screen {shown_s:.0f} s after the agent has it, and "
        "gone with it"
    )
