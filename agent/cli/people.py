"""`barnacle people`: who is let in, and the groups that are listened to."""

import time
from argparse import Namespace

import msgspec

from agent.access.people import Person
from agent.app.access import AccessControl
from agent.cli import configuration, exits
from agent.cli.output import say, say_json, say_table
from agent.system.clock import SystemClock

NOBODY_TEXT = "no people paired in {folder}; `barnacle pair` makes a code for the owner"


def run(arguments: Namespace) -> int:
    _, paths = configuration.load(arguments)
    people = AccessControl(paths, SystemClock()).people
    everyone, groups = people.everyone(), people.groups()
    if arguments.json:
        rows = {"people": list(everyone), "groups": list(groups)}
        say_json(msgspec.to_builtins(rows))
        return exits.OK
    if everyone:
        say_table([row for person in everyone for row in _rows(person)])
    else:
        say(NOBODY_TEXT.format(folder=paths.state_dir))
    for group in groups:
        say(f"listens in the group {group.channel}:{group.target}")
    return exits.OK


def _rows(person: Person) -> list[tuple[str, ...]]:
    if not person.accounts:
        return [(person.name, person.role, "no account", "", person.person_id)]
    return [
        (
            person.name,
            person.role,
            f"{one.channel}:{one.sender}",
            f"since {time.strftime('%Y-%m-%d', time.localtime(one.paired_at_s))}",
            person.person_id,
        )
        for one in person.accounts
    ]
