"""`barnacle revoke`: somebody is let in no more, or a group not listened to; at once."""

from argparse import Namespace

from agent.cli import exits, surroundings
from agent.cli.belonging import hand_over
from agent.cli.output import say
from agent.clock import SystemClock
from agent.dispatch.people import Group, People
from agent.dispatch.rank import Rank
from agent.doorway import Doorway
from agent.errors import BadArguments
from agent.storage.phrases import Phrases

_FILES = ("people.json", "people.json.lock", "phrases.json", "phrases.json.lock")


def run(arguments: Namespace) -> int:
    _, paths = surroundings.of(arguments)
    people = Doorway(paths, SystemClock()).people
    if arguments.group is not None:
        _revoke_group(people, arguments.group)
    else:
        _revoke(people, Phrases(paths.phrases, SystemClock()), arguments.person)
    hand_over(paths.state_dir, _FILES)
    return exits.OK


def _revoke(people: People, phrases: Phrases, name: str) -> None:
    person = people.named(name)
    people.revoke(person)
    phrases.forget_person(person.person_id)
    say(f"{person.name} ({person.role}) is let in no more")
    if person.rank is Rank.OWNER:
        say("nobody owns the device now: `barnacle pair` makes a code for its owner")


def _revoke_group(people: People, wanted: str) -> None:
    channel, _, target = wanted.partition(":")
    group = Group(channel=channel, target=target)
    if group not in people.groups():
        known = ", ".join(f"{one.channel}:{one.target}" for one in people.groups()) or "none"
        raise BadArguments(f"no group {wanted} is listened to; there is {known}")
    people.listen_in(group, wanted=False)
    say(f"the group {wanted} is listened to no more")
