"""`barnacle audit tail | verify`: what the agent decided and did, and whether that is all of it."""

import time
from argparse import Namespace
from collections import deque
from pathlib import Path

from agent.approvals import effect_counts
from agent.cli import configuration, exits
from agent.cli.memory_text import say_rows
from agent.cli.output import say, say_json
from agent.errors import BadArguments
from agent.security.audit import Found, files_of, lines_of, rows_of, text_of
from agent.security.audit_chain import Broken, Link, link_of, problems, untied

# Enough to see what kind of damage it is
_MAX_PROBLEMS_SHOWN = 20


def run(arguments: Namespace) -> int:
    _, paths = configuration.load(arguments)
    if arguments.action == "tail":
        return _tail(arguments, paths.audit)
    return _verify(arguments, paths.audit, paths.agent_db)


def _tail(arguments: Namespace, folder: Path) -> int:
    found = deque((row for row in rows_of(folder) if _fits(row, arguments)), maxlen=arguments.limit)
    if arguments.json:
        say_json(list(found))
    elif found:
        say_rows([_cells(row) for row in found])
    else:
        say("no matching rows in the audit log")
    return exits.OK


def _fits(row: Found, arguments: Namespace) -> bool:
    tool, verdict = arguments.tool, arguments.verdict
    return (
        (not tool or text_of(row, "tool") == tool or _begins(text_of(row, "tool"), tool))
        and (not verdict or row.get("verdict") == verdict)
        and (not arguments.effects or row.get("kind") == "effect")
        and (not arguments.provenance or row.get("provenance") == arguments.provenance)
    )


def _begins(name: str, pattern: str) -> bool:
    return pattern.endswith("*") and name.startswith(pattern[:-1])


def _cells(row: Found) -> tuple[str, ...]:
    """The number, when, what became of which call, why; the longest last, where it may be cut."""
    at_s = row.get("at_s")
    moment = time.gmtime(at_s if isinstance(at_s, int | float) else 0)
    told = row.get("read_back", row.get("result", row.get("arguments", text_of(row, "reason"))))
    why = text_of(row, "rule") or ("read back" if "read_back" in row else "")
    return (
        text_of(row, "n"),
        time.strftime("%m-%d %H:%M:%S", moment),
        _what(row),
        text_of(row, "provenance"),
        why,
        text_of(row, "tool"),
        str(told),
    )


def _what(row: Found) -> str:
    if row.get("kind") == "effect":
        return "done" if row.get("ok") else "failed"
    return text_of(row, "verdict") or text_of(row, "kind")


def _verify(arguments: Namespace, folder: Path, database: Path) -> int:
    anchors = [*_named(arguments.head), *filter(None, [effect_counts.read_anchor(database)])]
    wrong = list(problems(lines_of(folder), anchors))
    head = _head(folder)
    rows = sum(1 for _ in rows_of(folder))
    if arguments.json:
        told = {"whole": not wrong, "rows": rows, "head": str(head or ""), "problems": wrong}
        say_json(told)
    elif wrong:
        say("\n".join(wrong[:_MAX_PROBLEMS_SHOWN]))
        say(f"the audit log in {folder} was changed after it was written: {len(wrong)} problems")
    elif head is None:
        say("there is no audit log yet")
    else:
        files = len(files_of(folder))
        say(f"intact: {rows} rows in {files} file{'s' * (files > 1)}, up to {head}")
        say(
            "Rows after the last effect can be cut off without a trace. Note that number "
            "and hash elsewhere;"
        )
        say("`barnacle audit verify --head NUMBER:HASH` checks that the row is still there.")
    return exits.FAILED if wrong else exits.OK


def _named(head: str | None) -> list[Link]:
    try:
        return [link_of(head)] if head else []
    except ValueError as err:
        raise BadArguments(f"--head: {err}") from err


def _head(folder: Path) -> Link | None:
    last: Link | None = None
    for _, line in lines_of(folder):
        try:
            last = untied(line)[1]
        except Broken:
            continue
    return last
