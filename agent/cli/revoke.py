"""`barnacle revoke`: a person or a browser loses access, or a group is not read; at once."""

from argparse import Namespace

from agent.access.people import BROWSERS, PairedGroup, PeopleStore
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
    elif arguments.browser is not None:
        _revoke_browser(people, arguments.browser)
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


def _revoke_browser(people: PeopleStore, wanted: str) -> None:
    """End the session of one browser, by the beginning of its id."""
    every = [one for person in people.everyone() for one in person.accounts if one.is_browser]
    found = [one for one in every if one.sender.startswith(wanted.removeprefix(f"{BROWSERS}:"))]
    if len(found) != 1:
        known = ", ".join(one.sender[:8] for one in every) or "none"
        raise BadArguments(f"--browser {wanted} names {len(found)} browsers; known: {known}")
    people.forget_account(BROWSERS, found[0].sender)
    say(f"browser {found[0].sender[:8]} no longer has access; its person stays")


def _revoke_group(people: PeopleStore, wanted: str) -> None:
    channel, _, target = wanted.partition(":")
    group = PairedGroup(channel=channel, target=target)
    if group not in people.groups():
        known = ", ".join(f"{one.channel}:{one.target}" for one in people.groups()) or "none"
        raise BadArguments(f"the agent does not listen to a group {wanted}; it listens to {known}")
    people.listen_in(group, wanted=False)
    say(f"the agent no longer listens to the group {wanted}")
