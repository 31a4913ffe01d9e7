"""`barnacle explain`: which rule decides a call, or has decided it, and how to change that."""

import asyncio
import contextlib
import io
import json
import os
from argparse import Namespace

import msgspec

from agent.approvals import effect_counts
from agent.approvals.records import parts_of, texts_of
from agent.cli import configuration, exits
from agent.cli.output import say_json, say_table
from agent.errors import BadArguments
from agent.messages import Effect, Provenance
from agent.security.audit import rows_of, text_of
from agent.security.policy import LIMIT, OWN, Decision, GateCall, Verdict, decide
from agent.settings import Paths, Settings
from agent.tools.base import AnyTool, Arguments

Told = dict[str, str]
_RULES = {
    "read": "reading is always allowed; a table [agent.rules.<name>] can ask or deny",
    "readonly": 'set agent.autonomy to "supervised" to let it act on your orders',
    "full": 'set agent.autonomy to "supervised" to be asked before harmful acts',
    "execute": "answer yes or always; agent.autonomy does not change this",
    "owners-word": 'a table [agent.rules.<name>] with verdict = "ask" or "deny" is stricter',
    "provenance": "answer yes; or begin a conversation without the text it read: /new",
    "estop": "`/estop clear` in the chat or `barnacle estop --clear` clears the stop",
    "too-long": "ask for less at a time: an act too long to show in full cannot be approved",
    "secret": "none: only the service of a key ever gets it",
    "unrecorded": "make room on the disk: an act that cannot be recorded is refused",
    "presence": "agent.presence_for lists the effects that need the button",
    "no-presence": "press the button of board.approve_button in time, or change agent.presence_for",
    "standing-approval": "you answered always; `barnacle approvals revoke` makes it ask again",
    "owner-yes": "yes allows one act; `always` allows the calls it names for 30 days",
    "owner-always": "`barnacle approvals revoke` makes it ask again",
    "owner-no": "ask for it again and answer yes",
    "no-answer": "ask for it again and answer within 120 s",
    "not-asked": "ask where the agent can ask you, such as `barnacle chat` in a terminal",
}
_SUPERVISED = (
    'answer yes or always; a table [agent.rules.<name>] with verdict = "allow" or '
    'agent.autonomy = "full" stops the questions for your own orders'
)
_NONE = "no advice for this rule"


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    if (arguments.tool is None) == (arguments.row is None):
        raise BadArguments("name a tool, or a row of the audit log with --row; see `--help`")
    if arguments.row is not None:
        told = _of_row(paths, arguments.row)
    else:
        call = _call(arguments, settings, paths)
        provenance = Provenance[arguments.provenance.upper()]
        policy = settings.agent.policy
        decision = decide(call, provenance, policy, effect_counts.read_counters(paths.agent_db))
        told = _of_call(call, provenance, decision)
        if call.effect in settings.agent.presence_for and decision.verdict is not Verdict.DENY:
            told |= {"verdict": "ask", "rule": "presence", "to change": remedy_of("presence")}
    if arguments.json:
        say_json(told)
    else:
        say_table([(name, text) for name, text in told.items() if text])
    return exits.OK


def _of_call(call: GateCall, provenance: Provenance, decision: Decision) -> Told:
    return {
        "call": f"{call.tool} {json.dumps(call.arguments, ensure_ascii=False)}",
        "effect": call.effect.value,
        "provenance": provenance.name.lower(),
        "verdict": decision.verdict.value,
        "rule": decision.rule,
        "because": decision.reason,
        "to change": remedy_of(decision.rule),
    }


def _of_row(paths: Paths, number: int) -> Told:
    row = next((row for row in rows_of(paths.audit) if row.get("n") == number), None)
    if row is None:
        raise BadArguments(
            f"the audit log has no row {number}: `barnacle audit tail` lists the latest rows"
        )
    if row.get("kind") != "decision":
        kind = text_of(row, "kind")
        raise BadArguments(f"row {number} is no decision but of kind {kind}: try an earlier row")
    return {
        "call": f"{text_of(row, 'tool')} {text_of(row, 'arguments')}",
        "effect": text_of(row, "effect"),
        "provenance": text_of(row, "provenance"),
        "source": text_of(row, "source"),
        "for": f"{text_of(row, 'person')} in {text_of(row, 'conversation')}",
        "verdict": text_of(row, "verdict"),
        "rule": text_of(row, "rule"),
        "because": text_of(row, "reason"),
        "to change": remedy_of(text_of(row, "rule")),
    }


def _call(arguments: Namespace, settings: Settings, paths: Paths) -> GateCall:
    written = dict(_argument(word) for word in arguments.arguments)
    if arguments.effect:
        return GateCall(arguments.tool, Effect(arguments.effect), written)
    tool = asyncio.run(_tool(arguments.tool, settings, paths))
    parsed = _parsed(tool, written)
    told, within = texts_of(parsed), parts_of(parsed)
    return GateCall(tool.name, tool.effect_of(parsed), told, within, tool.opens(parsed))


def _parsed(tool: AnyTool, written: dict[str, str]) -> Arguments:
    """The arguments as the tool takes them: numbers and lists are written as text here."""
    parsed: Arguments
    with contextlib.suppress(BadArguments):
        parsed = tool.parse(json.dumps(written))
        return parsed
    with contextlib.suppress(msgspec.ValidationError):
        parsed = msgspec.convert(written, tool.arguments_type, strict=False)
        return parsed
    parsed = tool.parse(json.dumps({name: _value(text) for name, text in written.items()}))
    return parsed


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _argument(word: str) -> tuple[str, str]:
    name, separator, text = word.partition("=")
    if not separator:
        raise BadArguments(f"{word} has no =: write name=value")
    return name, text


async def _tool(name: str, settings: Settings, paths: Paths) -> AnyTool:
    # What takes long to load is loaded for this question alone
    from agent.app.build import assemble  # noqa: PLC0415
    from agent.tools.search import nearest  # noqa: PLC0415

    agent = assemble(settings, paths, os.environ, io.StringIO())
    try:
        tool, specs = agent.registry.find(name), agent.registry.specs()
    finally:
        await agent.aclose()
    if tool is None:
        close = ", ".join(nearest(name, specs))
        raise BadArguments(
            f"unknown tool {name}; similar names: {close}. The tools of a board appear "
            "after its first connection; until then, --effect gives the effect of such a "
            "tool"
        )
    return tool


def remedy_of(rule: str) -> str:
    """Return the advice for a rule."""
    if rule.startswith("supervised-"):
        return _SUPERVISED
    if rule.startswith(OWN):
        return f"it is the table [agent.rules.{rule.removeprefix(OWN)}] of your configuration"
    if rule.startswith(LIMIT):
        return _of_limit(rule.removeprefix(LIMIT))
    return _RULES.get(rule, _NONE)


def _of_limit(limit: str) -> str:
    name, _, span = limit.rpartition(".")
    if name != "all":
        return f"{span} in the table [agent.rules.{name}] of your configuration is the limit"
    return f'answer yes, or add a table [agent.rules.all] with tool = "*" and {span} = a number'
