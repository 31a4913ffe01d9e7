"""`barnacle channel`: the chat platforms, one added by questions, each tried where it is."""

import os
import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from agent.channels.catalog import NAMES, configured, platform
from agent.channels.platform import Platform, check_gateway
from agent.channels.settings import ChannelsSettings
from agent.cli import configuration, exits
from agent.cli.loop import run_in_loop
from agent.cli.output import CommandTerminal, say, say_json, say_table
from agent.cli.places import SERVICE, check_writable, places_of
from agent.errors import BadArguments, ConfigRefused
from agent.health.status import read_status
from agent.machine.computer import total_memory_mb
from agent.provision import settings_plan
from agent.provision.credentials import CREDENTIALS
from agent.provision.dialog import Asker
from agent.provision.key_proof import Proof, ProofVerdict, prove_platform
from agent.provision.platform_questions import PlatformQuestions, with_platform
from agent.provision.settings_plan import ProvisionPaths
from agent.provision.toml_text import Table, dumps
from agent.settings import Paths, Settings

_MARKS = {
    ProofVerdict.GOOD: "ok     ",
    ProofVerdict.UNKNOWN: "warning",
    ProofVerdict.REFUSED: "FAILED ",
}


_WHAT_IS_RECORDED = (
    "This writes what {0} sends in the next {1} s into {2}. Secrets are taken out; every name, id "
    "and word of a message becomes a made-up one. Messages that come meanwhile are not answered. "
    "Write to the agent from another account, with a picture, an answer and an edit; then look the "
    "file through before you give it to anybody."
)


def run(arguments: Namespace) -> int:
    actions = {"list": _list, "add": _add, "test": _test, "doctor": _test, "record": _record}
    return actions[arguments.action](arguments)


def _list(arguments: Namespace) -> int:
    settings, paths = configuration.load_as_root(arguments)
    there = {one.name for one in configured(settings.channels)}
    status = read_status(paths.status_file)
    is_running = status is not None and status.is_running
    troubles = {one.name: one.trouble for one in status.channels} if status and is_running else {}
    rows = [
        {
            "name": name,
            "about": platform(name).about,
            "state": _state(name, there, troubles),
            "confirmed": platform(name).is_confirmed,
        }
        for name in NAMES
    ]
    if arguments.json:
        say_json(rows)
    else:
        say_table([(str(row["name"]), str(row["state"]), _about(row)) for row in rows])
        say("unconfirmed: no real server of it was met yet; `barnacle channel record NAME` helps.")
        say("`barnacle channel add NAME` asks for what a platform needs and tries it.")
    return exits.OK


def _about(row: Mapping[str, object]) -> str:
    return f"{row['about']}{'' if row['confirmed'] else ' (unconfirmed)'}"


def _state(name: str, there: set[str], troubles: dict[str, str]) -> str:
    if name not in there:
        return "-"
    if name not in troubles:
        return "configured"
    return troubles[name] or "heard"


def _test(arguments: Namespace) -> int:
    settings, paths = configuration.load_as_root(arguments)
    there = [one.name for one in configured(settings.channels)]
    named = [arguments.name] if arguments.name else there
    if not named:
        raise BadArguments("no platform configured: `barnacle channel add NAME` adds one")
    if missing := set(named) - set(there):
        _known(missing.pop())
        raise BadArguments(
            f"no [channels.{named[0]}] in the configuration: run `barnacle channel add {named[0]}`"
        )
    worst = exits.OK
    for name in named:
        proof = _proof(name, settings, paths)
        say(f"{_MARKS[proof.verdict]}  {name:<10}  {proof.said}")
        worst = exits.FAILED if proof.verdict is not ProofVerdict.GOOD else worst
    return worst


def _record(arguments: Namespace) -> int:
    from agent.channels.record.recording import record  # noqa: PLC0415 - for those who record

    settings, paths = configuration.load_as_root(arguments)
    wanted = _known(arguments.name)
    if wanted.name not in {one.name for one in configured(settings.channels)}:
        raise BadArguments(f"{wanted.name} is not configured: `barnacle channel add {wanted.name}`")
    status = read_status(paths.status_file)
    if status is not None and status.is_running:
        raise BadArguments("the agent is running and would take the messages: stop it first")
    cassette = Path(arguments.out or f"{wanted.name}.cassette.jsonl")
    if cassette.exists():
        raise BadArguments(f"{cassette} is there already: name another file with --out")
    say(_WHAT_IS_RECORDED.format(wanted.name, arguments.seconds, cassette))
    if not arguments.yes and not Asker(CommandTerminal()).yes("Record?", usual=False):
        return exits.FAILED
    serve = None
    if wanted.comes_by_gateway(settings.channels, os.environ) and settings.gateway is not None:
        from agent.app.gateway import recording_gateway  # noqa: PLC0415 - of those that are pushed

        serve = recording_gateway(settings.gateway, paths.state_dir, os.environ)
    written = run_in_loop(
        record(wanted, settings.channels, cassette, arguments.seconds, say, serve)
    )
    say(f"{written.lines} lines are in {cassette}; {written.skipped} parts were no JSON.")
    return exits.OK


def _proof(name: str, settings: Settings, paths: Paths) -> Proof:
    try:
        check_gateway(platform(name), settings.channels, os.environ, settings.gateway)
    except ConfigRefused as err:
        return Proof(ProofVerdict.REFUSED, str(err))
    return run_in_loop(prove_platform(name, settings.channels, paths))


def _add(arguments: Namespace) -> int:
    wanted = _known(arguments.name)
    if not wanted.wanted:
        raise BadArguments(f"{wanted.name}: {wanted.about}")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadArguments(
            "`channel add` asks questions and needs a terminal: here, write the table "
            "yourself (`barnacle check --example` has every key)"
        )
    places = places_of(arguments)
    check_writable(places.config, f"channel add {arguments.name}")
    try:
        return _converse(arguments, wanted.name, places)
    except (EOFError, KeyboardInterrupt):
        say("\nNothing was changed.")
        return exits.INTERRUPTED


def _converse(arguments: Namespace, name: str, places: ProvisionPaths) -> int:
    before = settings_plan.existing(places.config)
    paths = configuration.load_as_root(arguments)[1]

    def prove(channels: ChannelsSettings) -> Proof:
        return run_in_loop(prove_platform(name, channels, paths))

    asked = PlatformQuestions(
        CommandTerminal(),
        platform(name),
        _table(before, name),
        lambda key: bool(settings_plan.kept(("channels", name, key), before, places)),
        prove,
        total_memory_mb(),
    )
    table = with_platform({}, before, name, asked.table())
    plan = settings_plan.planned(table, "channel", places)
    if Asker(CommandTerminal()).yes(f"Write it into {places.config}?", usual=True):
        settings_plan.take(plan, places)
        how = "" if places.credstore is None else f": `sudo systemctl restart {SERVICE}`"
        say(f"Written. The agent uses it from its next start{how}.")
        say("People who write there have no access until you pair them: `barnacle pair`.")
        return exits.OK
    say(f"Nothing was changed. This would be written into {places.config}:\n")
    say(dumps(_without_secrets(table, name)))
    return exits.OK


def _table(before: Table, name: str) -> Table:
    channels = before.get("channels")
    table = channels.get(name) if isinstance(channels, dict) else None
    return dict(table) if isinstance(table, dict) else {}


def _without_secrets(table: Table, name: str) -> Table:
    shown = {
        key: "..." if ("channels", name, key) in CREDENTIALS else value
        for key, value in _table(table, name).items()
    }
    return {**table, "channels": {name: shown}}


def _known(name: str) -> Platform:
    if name not in NAMES:
        raise BadArguments(f"unknown platform {name}: choose from {', '.join(NAMES)}")
    return platform(name)
