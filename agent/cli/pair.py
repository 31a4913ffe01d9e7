"""`barnacle pair`: a code by which somebody is let in; a running agent takes it at once."""

from argparse import Namespace

from agent.cli import exits, surroundings
from agent.cli.belonging import hand_over
from agent.cli.output import say, say_json
from agent.clock import SystemClock
from agent.dispatch.codes import CODE_TTL_S, Invitation
from agent.dispatch.people import OWNER_ID
from agent.dispatch.rank import Rank
from agent.doorway import Doorway
from agent.errors import BadArguments

_FILES = ("codes.json", "codes.json.lock")


def run(arguments: Namespace) -> int:
    settings, paths = surroundings.of(arguments)
    doorway = Doorway(paths, SystemClock())
    invitation = _invitation(arguments, doorway)
    code = doorway.codes.make(invitation)
    hand_over(paths.state_dir, _FILES)
    if arguments.json:
        wanted = {"code": code, "role": invitation.role, "valid_s": int(CODE_TTL_S)}
        say_json(wanted)
        return exits.OK
    say(f"/pair {code}")
    say(
        f"Write that line to the agent in a private chat, within {CODE_TTL_S // 60:.0f} minutes. "
        f"Whoever writes it first is {_who(invitation, doorway)}."
    )
    if not has_platform(settings.channels):
        say("No chat platform is configured yet: `barnacle check --example` shows how.")
    return exits.OK


def has_platform(channels: object) -> bool:
    """Return true if any platform has its table in the configuration."""
    fields: tuple[str, ...] = getattr(channels, "__struct_fields__", ())
    return any(getattr(channels, name) is not None for name in fields)


def _invitation(arguments: Namespace, doorway: Doorway) -> Invitation:
    if arguments.person is not None:
        if arguments.role or arguments.name:
            raise BadArguments("--for names somebody who has a role and a name already")
        if arguments.person.casefold() == OWNER_ID:
            return Invitation(role=Rank.OWNER.role)
        person = doorway.people.named(arguments.person)
        return Invitation(role=person.role, person_id=person.person_id)
    usual = Rank.OWNER if doorway.people.owner() is None else Rank.USER
    return Invitation(role=arguments.role or usual.role, name=arguments.name)


def _who(invitation: Invitation, doorway: Doorway) -> str:
    if invitation.person_id:
        return f"{doorway.people.named(invitation.person_id).name}, on one more account"
    if invitation.rank is Rank.OWNER:
        return "the owner and may do everything"
    return f"let in as {invitation.role}"
