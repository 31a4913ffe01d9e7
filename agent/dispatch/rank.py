"""What a person may, from nobody's guest to the owner, and the trust that their words have."""

import enum

import msgspec

from agent.messages import Provenance


class Rank(enum.IntEnum):
    """Who somebody is to the device; a higher one may all that a lower one may."""

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
    def of(cls, trust: Provenance) -> "Rank":
        """Who says something of this trust, at the most."""
        return next(rank for rank in (cls.OWNER, cls.USER, cls.GUEST) if rank.trust <= trust)

    @property
    def role(self) -> str:
        """The word for it that people type and read."""
        return self.name.lower()


_TRUST = {
    Rank.MEMBER: Provenance.WEB,
    Rank.GUEST: Provenance.WEB,
    Rank.USER: Provenance.USER,
    Rank.OWNER: Provenance.OWNER,
}
# What a code can make of somebody
ROLES = {rank.role: rank for rank in (Rank.OWNER, Rank.USER, Rank.GUEST)}


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept with the word for a rank in it; no other word is read."""

    role: str

    @property
    def rank(self) -> Rank:
        return ROLES[self.role]

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}")
