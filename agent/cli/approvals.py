"""`barnacle approvals list | revoke`: the calls that the owner said "always" to."""

import time
from argparse import Namespace
from collections.abc import Sequence

from agent.cli import exits, surroundings
from agent.cli.memory_text import say_rows
from agent.cli.output import say, say_json
from agent.clock import SystemClock
from agent.errors import BadArguments
from agent.security.approvals import Standing, StandingApprovals

# Of a call's hash: enough to tell a handful apart
_SHOWN_DIGITS = 8


def run(arguments: Namespace) -> int:
    _, paths = surroundings.of(arguments)
    approvals = StandingApprovals(paths.approvals, SystemClock())
    # Looking makes no file
    known = approvals.every() if paths.approvals.exists() else []
    if arguments.action == "list":
        _list(known, as_json=arguments.json)
    else:
        chosen = known if arguments.all else [_chosen(known, arguments.id)]
        if chosen:
            approvals.revoke(one.call for one in chosen)
        say(f"{len(chosen)} revoked; you are asked again")
    return exits.OK


def _chosen(known: Sequence[Standing], start: str) -> Standing:
    fitting = [one for one in known if start and one.call.startswith(start)]
    if len(fitting) != 1:
        number = "no approval" if not fitting else "more than one approval"
        raise BadArguments(f"{number} begins with {start}: `barnacle approvals list` shows them")
    return fitting[0]


def _list(known: Sequence[Standing], *, as_json: bool) -> None:
    if as_json:
        say_json([_as_json(one) for one in known])
    elif known:
        say_rows([
            (one.call[:_SHOWN_DIGITS], f"until {_day(one.until_s)}", one.tool, one.arguments)
            for one in known
        ])  # fmt: skip
    else:
        say("you have said always to nothing")


def _as_json(one: Standing) -> dict[str, object]:
    return {
        "id": one.call,
        "tool": one.tool,
        "arguments": one.arguments,
        "until": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(one.until_s)),
    }


def _day(until_s: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(until_s))
