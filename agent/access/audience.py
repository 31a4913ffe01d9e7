"""Readers of a turn's answer: the person who asked, and everybody in a group."""

from agent.access.people import OWNER_ID, PeopleStore, Person
from agent.access.roles import PersonRole
from agent.messages import Inbound
from agent.security.access import Audience, AudienceRole
from agent.text.printable import printable_line

_MAX_NAME_CHARS = 60
# By number, as the socket of this machine names them; whoever is in a room is nobody else
_OF_THIS_MACHINE = ("uid-", "room")
_ROLES = {
    PersonRole.OWNER: AudienceRole.OWNER,
    PersonRole.USER: AudienceRole.HOUSEHOLD,
    PersonRole.GUEST: AudienceRole.GUEST,
    PersonRole.MEMBER: AudienceRole.STRANGER,
}


def audience_of(message: Inbound, people: PeopleStore | None = None) -> Audience:
    """Return who reads the answer; a person who no longer has access is a stranger.

    Args:
        people: all who were let in; None where only the channel says who somebody is.
    """
    known = next((one for one in _everyone(people) if one.person_id == message.who), None)
    name = known.name if known else message.sender_name or message.who
    # Others read there whoever asked, also where nobody did: a job tells its result to the group
    group = message.address.chat if message.is_group else ""
    return Audience(
        _ROLES[_rank(message, None if known is None else known.rank, people)],
        message.who,
        printable_line(name, _MAX_NAME_CHARS),
        printable_line(group, _MAX_NAME_CHARS),
    )


def _everyone(people: PeopleStore | None) -> list[Person]:
    return list(people.everyone()) if people is not None else []


def _rank(message: Inbound, known: PersonRole | None, people: PeopleStore | None) -> PersonRole:
    if known is not None:
        return known
    if message.who == OWNER_ID:
        return PersonRole.OWNER
    # People of this machine are in no list: what their words are worth says who they are
    if people is None or message.who.startswith(_OF_THIS_MACHINE):
        return PersonRole.of(message.provenance)
    return PersonRole.MEMBER
