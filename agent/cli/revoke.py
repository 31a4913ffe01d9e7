"""`barnacle revoke`: somebody no longer has access, or a group not listened to; at once."""

from argparse import Namespace

from agent.access.people import PairedGroup, PeopleStore
from agent.access.roles import PersonRole
from agent.app.access import AccessControl
from agent.cli import configuration, exits
from agent.cli.file_ownership import hand_over
from agent.cli.output import say
from agent.errors import BadArguments
from agent.storage.phrases import Phrases
from agent.system.clock import SystemClock

_FILES = ("people.json", "people.json.lock", "phrases.json", "phrases.json.lock")


def run(arguments: Namespace) -> int:
    _, paths = configuration.load(arguments)
    people = AccessControl(paths, SystemClock()).people
    if arguments.group is not None:
        _revoke_group(people, arguments.group)
    else:
        _revoke(people, Phrases(paths.phrases, SystemClock()), arguments.person)
    hand_over(paths.state_dir, _FILES)
    return exits.OK


def _revoke(people: PeopleStore, phrases: Phrases, name: str) -> None:
    person = people.named(name)
    people.revoke(person)
    phrases.forget_person(person.person_id)
    say(f"{person.name} ({person.role}) no longer has access")
    if person.rank is PersonRole.OWNER:
        say("the device has no owner now: `barnacle pair` makes a code for one")


def _revoke_group(people: PeopleStore, wanted: str) -> None:
    channel, _, target = wanted.partition(":")
    group = PairedGroup(channel=channel, target=target)
    if group not in people.groups():
        known = ", ".join(f"{one.channel}:{one.target}" for one in people.groups()) or "none"
        raise BadArguments(f"the agent does not listen to a group {wanted}; it listens to {known}")
    people.listen_in(group, wanted=False)
    say(f"the agent no longer listens to the group {wanted}")
