"""The board's own rule code, run on this machine: its sources, and one run in a child process.

There is one rule code, that of the firmware. An installation carries those of its modules that
decide about rules; a checkout has them where the firmware is.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent.errors import BarnacleError
from agent.security.reader import ReaderRun, read_apart
from agent.security.sandbox.base import Sandbox

PROGRAM = Path(__file__).with_name("rule_program.py")
# The modules of the firmware that decide when a rule acts and what an output is held to
NODE_MODULES = (
    *("calls", "limits", "outputs", "reflex_rule", "reflex_table", "reflexes"),
    # What is worth an event
    "subscription",
)
# Ours that run beside them
_PROGRAMS = ("virtual_board", "virtual_leaps", "virtual_orders", "virtual_watch", "rule_conflicts")
_AGENT = Path(__file__).parents[1]
_INSTALLED = _AGENT / "firmware" / "node"
_CHECKOUT = _AGENT.parent / "firmware" / "node"
# A Pi Zero needs a few seconds for a month; the owner waits for the question meanwhile
TIMEOUT_S = 20.0


class NotRun(BarnacleError):
    """The rule code was not run; the text says why."""


async def run(program: str, given: Mapping[str, Any], sandbox: Sandbox | None) -> Any:
    """Return what the program says of the numbers.

    Args:
        program: virtual_board, virtual_watch or rule_conflicts.

    Raises:
        BarnacleError: it was not run to its end.
    """
    task = {"sources": dict(_sources()), "run": program, "given": given}
    work = ReaderRun(str(PROGRAM), (), msgspec.json.encode(task), TIMEOUT_S, TIMEOUT_S)
    done = await read_apart(work, sandbox)
    if done.exit != 0:
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise NotRun(done.ended or said or "the rule code broke")
    return msgspec.json.decode(done.stdout)


def _sources() -> Iterator[tuple[str, str]]:
    folder = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    try:
        yield "frame", (_AGENT / "link" / "frame.py").read_text()
        for name in NODE_MODULES:
            yield f"node.{name}", (folder / f"{name}.py").read_text()
        for name in _PROGRAMS:
            yield name, Path(__file__).with_name(f"{name}.py").read_text()
    except OSError as err:
        raise NotRun(f"the board's rule code is missing: {err.filename}") from err
