"""Starts everything and a chat with it: the work of scripts/run."""

import argparse
import contextlib
import fcntl
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from scripts.lib import configuration, environment, setup
from scripts.lib.progress import StepFailed, say
from scripts.lib.setup import ROOT
from scripts.lib.simulator import Simulator

_MADE = ROOT / ".barnacle"
_RUN = _MADE / "run"
_OWN_CONFIG = _MADE / "barnacle.toml"
HELP = """\
Usage: scripts/run [option of `barnacle chat` ...]

Makes what is missing (virtual environment, dependencies, embedding model, MicroPython), starts a
simulated board and opens a chat with the device in this terminal. With --plain it answers each line
of its input with one line, for pipes. Everything lives in .venv/ and .barnacle/ of this checkout.

  printf 'turn the led on\\n' | scripts/run --plain

Environment:
  BARNACLE_BOARD_PORT   a real board's port, such as /dev/ttyACM0: nothing is simulated then
  BARNACLE_CONFIG       a configuration of your own   (default: .barnacle/barnacle.toml)
  BARNACLE_STATE_DIR    databases and memories        (default: .barnacle/state)
  BARNACLE_MICROPYTHON  a MicroPython for the simulated board   (default: Debian's)
  BARNACLE_PYTHON       the Python to build the virtual environment with

What the simulated board's pins did is recorded in .barnacle/run/board-record.jsonl.
"""


def main(arguments: list[str]) -> int:
    if any(word in {"-h", "--help"} for word in arguments):
        print(HELP)
        return 0
    status = setup.ensure(dev=False)
    if status != 0:
        return status
    _RUN.mkdir(parents=True, exist_ok=True)
    board = Simulator(ROOT, _RUN)
    variables = _variables(board.link)
    try:
        with _board_of(board, variables, arguments):
            return _chat(arguments, variables)
    except StepFailed as failure:
        print(failure, file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


def _variables(link: Path) -> dict[str, str]:
    variables = environment.variables(ROOT)
    if "BARNACLE_CONFIG" not in variables:
        configuration.offer(_OWN_CONFIG, link)
    variables.setdefault("BARNACLE_CONFIG", str(_OWN_CONFIG))
    variables.setdefault("BARNACLE_STATE_DIR", str(_MADE / "state"))
    return variables


@contextlib.contextmanager
def _board_of(board: Simulator, variables: dict[str, str], arguments: list[str]) -> Iterator[None]:
    """A board behind the configured port, for as long as the chat lasts."""
    config = _chosen_config(variables, arguments)
    if not configuration.means_port(Path(config), board.link):
        say(f"no simulated board: {config} does not ask for the one at {board.link}")
        yield
        return
    with _alone():
        board.end_left_over()
        if port := variables.get("BARNACLE_BOARD_PORT"):
            board.link.unlink(missing_ok=True)
            board.link.symlink_to(Path(port).absolute())
            say(f"the board is at {port}")
            yield
            return
        try:
            board.start(variables)
            say(f"simulated board ready; what its pins do is recorded in {board.record}")
            yield
        finally:
            board.stop()


def _chosen_config(variables: dict[str, str], arguments: list[str]) -> str:
    parser = argparse.ArgumentParser(prog="scripts/run", add_help=False, allow_abbrev=False)
    parser.add_argument("--config", default=variables["BARNACLE_CONFIG"])
    return str(parser.parse_known_args(arguments)[0].config)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One chat at a time has the board of this checkout."""
    with (_RUN / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StepFailed(
                "barnacle: another scripts/run of this checkout has the board; end it first"
            ) from None
        yield


def _chat(arguments: list[str], variables: dict[str, str]) -> int:
    """The chat's exit status; signals for us are the chat's to answer."""
    barnacle = ROOT / ".venv" / "bin" / "barnacle"
    with subprocess.Popen([barnacle, "chat", *arguments], env=variables) as chat:

        def hand_on(number: int, _frame: FrameType | None) -> None:
            # The terminal has sent its Ctrl-C to the chat already
            if number != signal.SIGINT:
                chat.send_signal(number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, hand_on)
        status = chat.wait()
    if status < 0:
        say(f"the chat was ended by {signal.Signals(-status).name}")
        return 128 - status
    return status
