"""Who reads the answer of a turn: the person who asked, and everybody in a group."""

from agent.dispatch.people import OWNER_ID, People, Person
from agent.dispatch.rank import Rank
from agent.messages import Inbound
from agent.printable import printable_line
from agent.security.access import Audience, Role

_MAX_NAME_CHARS = 60
# By number, as the socket of this machine names them
_OF_THIS_MACHINE = "uid-"
_ROLES = {
    Rank.OWNER: Role.OWNER,
    Rank.USER: Role.HOUSEHOLD,
    Rank.GUEST: Role.GUEST,
    Rank.MEMBER: Role.STRANGER,
}


def audience_of(inbound: Inbound, people: People | None = None) -> Audience:
    """Return who reads the answer; a person who is let in no more is a stranger.

    Args:
        people: all who were let in; None where only the channel says who somebody is.
    """
    known = next((one for one in _everyone(people) if one.person_id == inbound.who), None)
    name = known.name if known else inbound.sender_name or inbound.who
    # Others read there whoever asked, also where nobody did: a job tells its result to the group
    group = inbound.address.chat if inbound.is_group else ""
    return Audience(
        _ROLES[_rank(inbound, None if known is None else known.rank, people)],
        inbound.who,
        printable_line(name, _MAX_NAME_CHARS),
        printable_line(group, _MAX_NAME_CHARS),
    )


def _everyone(people: People | None) -> list[Person]:
    return list(people.everyone()) if people is not None else []


def _rank(inbound: Inbound, known: Rank | None, people: People | None) -> Rank:
    if known is not None:
        return known
    if inbound.who == OWNER_ID:
        return Rank.OWNER
    # People of this machine are in no list: what their words are worth says who they are
    if people is None or inbound.who.startswith(_OF_THIS_MACHINE):
        return Rank.of(inbound.provenance)
    return Rank.MEMBER
