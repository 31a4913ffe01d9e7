"""`barnacle pair`: a code by which somebody is let in; a running agent takes it at once."""

from argparse import Namespace

from agent.access.pairing_codes import CODE_TTL_S, Invitation
from agent.access.people import OWNER_ID, PeopleStore, PersonAccount
from agent.access.roles import ROLES, PersonRole
from agent.app.access import AccessControl
from agent.cli import configuration, exits
from agent.cli.file_ownership import hand_over
from agent.cli.output import say, say_json
from agent.errors import BadArguments
from agent.system.clock import SystemClock

_FILES = ("codes.json", "codes.json.lock")
_PEOPLE = ("people.json", "people.json.lock")


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    doorway = AccessControl(paths, SystemClock())
    if arguments.wyoming is not None:
        _let_in_client(arguments, doorway.people)
        hand_over(paths.state_dir, _PEOPLE)
        return exits.OK
    if arguments.device is not None:
        _let_in_device(arguments, doorway.people)
        hand_over(paths.state_dir, _PEOPLE)
        return exits.OK
    invitation = _invitation(arguments, doorway)
    code = doorway.codes.make(invitation)
    hand_over(paths.state_dir, _FILES)
    if arguments.json:
        wanted = {"code": code, "role": invitation.role, "valid_s": int(CODE_TTL_S)}
        say_json(wanted)
        return exits.OK
    say(f"/pair {code}")
    say(
        f"Send that line to the agent in a private chat within {CODE_TTL_S // 60:.0f} "
        f"minutes. The first person to send it becomes {_who(invitation, doorway)}."
    )
    if not has_platform(settings.channels):
        say("No chat platform is configured yet: `barnacle channel add NAME` adds one.")
    return exits.OK


def has_platform(channels: object) -> bool:
    """Return true if any platform has its table in the configuration."""
    fields: tuple[str, ...] = getattr(channels, "__struct_fields__", ())
    return any(getattr(channels, name) is not None for name in fields)


def _let_in_client(arguments: Namespace, people: PeopleStore) -> None:
    """Let in the voice assistant at an address: its protocol has no place for a code."""
    from agent.gateway.assistants.wyoming.clients import NAME, exact  # noqa: PLC0415 - for it alone

    if arguments.person is not None or arguments.role == PersonRole.OWNER.role:
        raise BadArguments(
            "in a room anybody may speak: --wyoming takes --role user or guest alone"
        )
    try:
        client = exact(arguments.wyoming)
    except ValueError as err:
        raise BadArguments(f"--wyoming {arguments.wyoming}: expected an IP address") from err
    rank = ROLES[arguments.role or PersonRole.GUEST.role]
    account = PersonAccount(channel=NAME, sender=client, target="")
    person = people.let_in(rank, account, arguments.name or "voice")
    if arguments.json:
        say_json({"person": person.name, "role": person.role, "address": client})
        return
    say(f"what is said at {client} counts as the words of {person.name}, a {person.role}")
    say(f"`barnacle revoke {person.name!r}` ends it")


def _let_in_device(arguments: Namespace, people: PeopleStore) -> None:
    """Let in another device of the owner, whose key is in the configuration."""
    if arguments.person is not None or arguments.role == PersonRole.OWNER.role:
        raise BadArguments("a device is nobody's voice: --device takes --role user or guest alone")
    rank = ROLES[arguments.role or PersonRole.USER.role]
    account = PersonAccount(channel="devices", sender=arguments.device, target="")
    person = people.let_in(rank, account, arguments.name or arguments.device)
    if arguments.json:
        say_json({"person": person.name, "role": person.role, "device": arguments.device})
        return
    say(f"what {arguments.device} asks for counts as the words of {person.name}, a {person.role}")
    say("what it may use is in [devices.others] of barnacle.toml")
    say(f"`barnacle revoke {person.name!r}` ends it")


def _invitation(arguments: Namespace, doorway: AccessControl) -> Invitation:
    if arguments.person is not None:
        if arguments.role or arguments.name:
            raise BadArguments(
                "--for adds an account to a paired person: leave out --role and --name"
            )
        if arguments.person.casefold() == OWNER_ID:
            return Invitation(role=PersonRole.OWNER.role)
        person = doorway.people.named(arguments.person)
        return Invitation(role=person.role, person_id=person.person_id)
    usual = PersonRole.OWNER if doorway.people.owner() is None else PersonRole.USER
    return Invitation(role=arguments.role or usual.role, name=arguments.name)


def _who(invitation: Invitation, doorway: AccessControl) -> str:
    if invitation.person_id:
        return f"{doorway.people.named(invitation.person_id).name}, with another account"
    if invitation.rank is PersonRole.OWNER:
        return "the owner, who may do everything"
    return f"a {invitation.role}"
