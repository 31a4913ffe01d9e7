"""Roles of people, from member to owner, and the trust of their words."""

import enum

import msgspec

from agent.messages import Provenance


class PersonRole(enum.IntEnum):
    """Role of a person; a higher one includes the rights of the lower ones."""

    # Writes in a group that the owner lets in, and is nobody else
    MEMBER = 0
    # Was let in to talk, and no more
    GUEST = 1
    # Was let in by the owner: what they want done still asks the owner
    USER = 2
    # The person whose device it is
    OWNER = 3

    @property
    def trust(self) -> Provenance:
        """Of what they write where nobody else does."""
        return _TRUST[self]

    @classmethod
    def of(cls, trust: Provenance) -> "PersonRole":
        """Return the highest role that this trust can stand for."""
        return next(rank for rank in (cls.OWNER, cls.USER, cls.GUEST) if rank.trust <= trust)

    @property
    def role(self) -> str:
        """The word for it that people type and read."""
        return self.name.lower()


_TRUST = {
    PersonRole.MEMBER: Provenance.WEB,
    PersonRole.GUEST: Provenance.WEB,
    PersonRole.USER: Provenance.USER,
    PersonRole.OWNER: Provenance.OWNER,
}
# What a code can make of somebody
ROLES = {rank.role: rank for rank in (PersonRole.OWNER, PersonRole.USER, PersonRole.GUEST)}


class HasRole(msgspec.Struct, frozen=True, kw_only=True):
    """Stored record with a role in it; other words are ignored."""

    role: str

    @property
    def rank(self) -> PersonRole:
        return ROLES[self.role]

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}")
