"""`barnacle pair`: a code by which somebody is let in; a running agent takes it at once."""

from argparse import Namespace

from agent.access.pairing_codes import CODE_TTL_S, Invitation
from agent.access.people import OWNER_ID
from agent.access.roles import PersonRole
from agent.app.access import AccessControl
from agent.cli import configuration, exits
from agent.cli.file_ownership import hand_over
from agent.cli.output import say, say_json
from agent.errors import BadArguments
from agent.system.clock import SystemClock

_FILES = ("codes.json", "codes.json.lock")


def run(arguments: Namespace) -> int:
    settings, paths = configuration.load(arguments)
    doorway = AccessControl(paths, SystemClock())
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
