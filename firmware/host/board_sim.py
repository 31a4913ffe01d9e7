"""A simulated board: the real firmware in a real MicroPython, behind a pseudo-terminal."""

import argparse
import sys
from pathlib import Path

from firmware.host.interpreter import NoInterpreter
from firmware.host.parts import PARTS
from firmware.host.simulation import SIMULATED, Setup, SimulationFailed, run

EPILOG = """
Once the board listens, its path is printed: point the agent's [board] port at it, or at --link.

  scripts/board-sim --link /tmp/board --record /tmp/board.jsonl --control /tmp/board.ctl

The record gets one JSON object per line for every change of a driven pin:
  {"event": "pin", "name": "led", "pin": "PC13", "level": 0, "value": 1, "ms": 81, "wall_s": 1.7e9}
`value` is logical (1 is on), `level` is electrical, `ms` is the monotonic clock of this computer.
Further events: boot, stop, watchdog (it has reset the board, which starts again), pwm, servo (where
it is while it turns), pixels, uart.

A world file says what the board's inputs see, and what happens when:
  {"values": {"temperature": {"value": 24.5, "drift_per_s": 0.01, "highest": 60},
              "a0": 1.2, "button": 0},
   "script": [{"at_s": 3, "set": {"button": 1}}, {"at_s": 3.2, "set": {"button": 0}}],
   "devices": [{"kind": "bme280", "pin": "PB6"}, {"kind": "flow", "pin": "PB14", "pump": "pump"}]}
Unconnected pins have small names (pb3). Devices measure air_temperature, humidity, pressure (hPa)
and water_temperature, or the quantities that their entry names; firmware/README.md lists them.

The control is a Unix socket that takes one JSON object per line and answers with one:
  {"set": {"button": 1}}    {"stuck": {"led": 0}} (a shorted output; null heals it)
  {"bounce": {"button": 1}} (pressed as a contact is: back and forth before it stays)
  {"devices": {"bme280": {"absent": true}, "ds18b20": {"bad_checksum": true}}}
  {"get": true}             {"freeze_ms": 3000} (the firmware hangs)
  {"spin_ms": 3000}         (the firmware is stuck in a loop that takes memory)
  {"cut_power_after": 7}    (in the middle of the eighth operation of its flash from now on; it
                            starts again)
  {"erase_ms": 9000}        (its flash takes so long to erase a sector)

Ctrl-C or SIGTERM pull the cable and wait until the outputs are safe, at most the longest lease.
SIGKILL is a board that vanishes.
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="board-sim",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--link", type=Path, metavar="PATH", help="make this symbolic link to it")
    parser.add_argument("--record", type=Path, metavar="PATH", help="append pin changes here")
    parser.add_argument("--world", type=Path, metavar="FILE", help="what the inputs see (JSON)")
    parser.add_argument("--control", type=Path, metavar="PATH", help="make this control socket")
    parser.add_argument("--flash", type=Path, metavar="FILE", help="keep its flash in this file")
    parser.add_argument(
        "--board",
        choices=[SIMULATED, *sorted(PARTS)],
        default=SIMULATED,
        help="which one to play: its own pins, memory and flash; %(default)s",
    )
    parser.add_argument(
        "--flash-times",
        choices=["none", "typical", "worst"],
        default="none",
        help="how long its flash takes to erase and to write; %(default)s",
    )
    parser.add_argument(
        "--frozen",
        action="store_true",
        help="play a board whose MicroPython has the firmware in itself (scripts/flash --freeze)",
    )
    given = parser.parse_args()
    setup = Setup(
        given.link,
        given.record,
        given.world,
        given.control,
        given.flash,
        given.board,
        given.flash_times,
        given.frozen,
    )
    try:
        return run(setup, announce=_say)
    except (SimulationFailed, NoInterpreter, OSError) as err:
        sys.stderr.write(f"board-sim: {err}\n")
        return 1


def _say(path: str) -> None:
    sys.stdout.write(f"{path}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
