"""`barnacle approvals list | revoke`: the kinds of call that the owner said "always" to."""

import time
from argparse import Namespace
from collections.abc import Sequence

from agent.cli import configuration, exits
from agent.cli.memory_text import say_rows
from agent.cli.output import say, say_json
from agent.errors import BadArguments
from agent.messages import Provenance
from agent.security.approvals import StandingApproval, StandingApprovals
from agent.system.clock import SystemClock

# Of a call's hash: enough to tell a handful apart
_SHOWN_DIGITS = 8


def run(arguments: Namespace) -> int:
    _, paths = configuration.load(arguments)
    approvals = StandingApprovals(paths.approvals, SystemClock())
    # Looking makes no file
    known = approvals.every() if paths.approvals.exists() else []
    if arguments.action == "list":
        _list(known, as_json=arguments.json)
    else:
        chosen = known if arguments.all else [_chosen(known, arguments.id)]
        if chosen:
            approvals.revoke(one.call for one in chosen)
        say(f"{len(chosen)} revoked; the agent asks you again")
    return exits.OK


def _chosen(known: Sequence[StandingApproval], start: str) -> StandingApproval:
    fitting = [one for one in known if start and one.call.startswith(start)]
    if len(fitting) != 1:
        number = "no approval" if not fitting else "more than one approval"
        raise BadArguments(
            f"{number} begins with {start}: run `barnacle approvals list` for the numbers"
        )
    return fitting[0]


def _list(known: Sequence[StandingApproval], *, as_json: bool) -> None:
    if as_json:
        say_json([_as_json(one) for one in known])
    elif known:
        say_rows([_cells(one) for one in known])
    else:
        say('no approvals: you have not answered any question with "always"')


def _cells(one: StandingApproval) -> tuple[str, ...]:
    until = f"until {_day(one.until_s)}"
    return one.call[:_SHOWN_DIGITS], until, one.tool, one.arguments, one.words


def _as_json(one: StandingApproval) -> dict[str, object]:
    return {
        "id": one.call,
        "tool": one.tool,
        "arguments": one.arguments,
        "words": one.words,
        "trust": _trust_of(one),
        "until": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(one.until_s)),
    }


def _trust_of(one: StandingApproval) -> str:
    """The least trusted turn it holds for; what is no trust at all holds for none."""
    known = {trust.value: trust.name.lower() for trust in Provenance}
    return known.get(one.trust, "none")


def _day(until_s: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(until_s))
