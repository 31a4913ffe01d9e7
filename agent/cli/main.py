"""The `barnacle` command: exit status 0 done, 1 failed, 2 usage or configuration.

Nothing is imported here that `--version` does not need.
"""

import os
import sys
from collections.abc import Sequence

from agent import __version__
from agent.cli import exits

# A thread that computes lets the others wait for no longer: Python's own 5 ms are a third of a turn
SWITCH_S = 0.001


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    try:
        try:
            return _run(words)
        finally:
            # Also behind `--help`, which ends the program
            sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at exit and would complain then
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.NOBODY_READS
    except OSError as err:
        # Only the output is left to fail here; what it still holds is lost, not tried again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"barnacle: cannot write the output: {err.strerror or err}", file=sys.stderr)
        return exits.FAILED
    except KeyboardInterrupt:
        return exits.INTERRUPTED


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        print(f"barnacle {__version__}")
        return exits.OK
    # Read when numpy is loaded: threads of its own spin between two searches, at four times the CPU
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.setswitchinterval(SWITCH_S)
    from agent.system import garbage  # noqa: PLC0415  # --version goes without it

    garbage.hold()
    from agent.cli import commands  # noqa: PLC0415  # the same

    return commands.run(words)


def _open_closed_streams() -> None:
    """Open what was closed by whoever started us: a database must not get the output's number."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


if __name__ == "__main__":
    sys.exit(main())
