"""Data access: one pure function decides who may see files, memories and readings.

Data belongs to a person, to the household, or to everybody. Whoever asks gets what is theirs or
everybody's; in a group everybody reads along, so it gets only what is everybody's. For the rest
the owner is asked, and the question says whose data would go where.
"""

import enum
from collections.abc import Sequence

from msgspec import Struct

from agent.messages import Provenance
from agent.security.policy import TEXT_READ, Decision, Verdict
from agent.security.received import folder_of_group, folder_of_person

# The person whose device it is, as the store of people names them
OWNER = "owner"
# The rule that a question or a refusal of this module is known by
RULE = "access"
_SHARED = "to share it, name it in [workspace.shared] of the configuration"


class Circle(enum.IntEnum):
    """For whom data is; a higher one is for more people."""

    # For one person alone
    PERSON = 0
    # For whoever the owner let in as a user
    HOUSEHOLD = 1
    # For guests and groups, too
    EVERYBODY = 2


class AudienceRole(enum.Enum):
    """Role of the asking person, for access to data."""

    OWNER = "owner"
    # A person whom the owner let in as a user
    HOUSEHOLD = "user"
    GUEST = "guest"
    # Somebody who writes in a group that is listened to
    STRANGER = "stranger"


class Audience(Struct, frozen=True):
    """All readers of a turn's answer.

    Args:
        person: who asks.
        name: what they are called here.
        group: the group that reads along, as people know it; empty where nobody does.
    """

    role: AudienceRole
    person: str = OWNER
    name: str = ""
    group: str = ""

    @property
    def is_owner_alone(self) -> bool:
        return self.role is AudienceRole.OWNER and not self.group

    @property
    def in_words(self) -> str:
        if self.group:
            return f"the group {self.group}"
        return self.name or self.person

    def owns(self, holding: "Holding") -> bool:
        if holding.by_folder:
            return holding.person == folder_of_person(self.person)
        # What a stranger is called they have chosen themselves
        name = "" if self.role is AudienceRole.STRANGER else self.name.casefold()
        return holding.person.casefold() in {self.person.casefold(), name} - {""}

    def is_group_of(self, holding: "Holding") -> bool:
        """Return true if this very group has seen it, because it was sent there."""
        return (
            bool(self.group) and holding.by_folder and holding.person == folder_of_group(self.group)
        )


# The owner at the machine itself
AT_THE_DEVICE = Audience(AudienceRole.OWNER)


class Holding(Struct, frozen=True):
    """Data that may be shown, and its owner.

    Args:
        what: what it is, for people.
        person: whose it is, by id or name, where it is one person's.
        by_folder: `person` is a folder of received files, which no name stands for.
    """

    what: str
    circle: Circle = Circle.PERSON
    person: str = OWNER
    by_folder: bool = False

    def belongs_to(self, audience: Audience) -> str:
        """Return the data's owner in the words that the device's owner reads."""
        if self.circle is Circle.HOUSEHOLD:
            return "the household's"
        return "yours" if self.person == OWNER else f"{self.person}'s"


class DataReach(Struct, frozen=True):
    """Verdict on the data of one call.

    Args:
        words: what would be shown to whom.
        reason: why it is asked or refused.
    """

    verdict: Verdict = Verdict.ALLOW
    words: str = ""
    reason: str = ""


FREE = DataReach()


def may_read(holdings: Sequence[Holding], audience: Audience) -> DataReach:
    """Decide if the audience may see all of this data; the strictest part decides."""
    verdicts = [(_verdict(one, audience), one) for one in holdings]
    for wanted in (Verdict.DENY, Verdict.ASK):
        held = [one for verdict, one in verdicts if verdict is wanted]
        if held:
            return DataReach(wanted, _words(held, audience), _reason(held[0], wanted, audience))
    return FREE


def may_leave(trust: Provenance, *, holds_private: bool) -> DataReach:
    """Decide if a lookup may go outside: private data and low trust need a yes."""
    if trust is Provenance.OWNER or not holds_private:
        return FREE
    reason = (
        f"this conversation holds private data, and {TEXT_READ[trust]}, which may have asked "
        "for this"
    )
    return DataReach(Verdict.ASK, "sends its arguments to an outside service", reason)


def weighed(decision: Decision, reach: DataReach) -> Decision:
    """Combine the policy's decision on a call with the reach of its data."""
    if decision.verdict is Verdict.DENY or reach.verdict is Verdict.ALLOW:
        return decision
    if reach.verdict is Verdict.ASK and decision.verdict is Verdict.ASK:
        return Decision(Verdict.ASK, RULE, f"{reach.reason}; {decision.reason}")
    return Decision(reach.verdict, RULE, reach.reason)


def _verdict(holding: Holding, audience: Audience) -> Verdict:
    if holding.circle is Circle.EVERYBODY:
        return Verdict.ALLOW
    if audience.is_owner_alone or audience.is_group_of(holding):
        return Verdict.ALLOW
    is_theirs = audience.owns(holding)
    is_of_another = holding.circle is Circle.PERSON and holding.person != OWNER and not is_theirs
    if is_of_another:
        return Verdict.DENY
    if audience.group:
        return Verdict.ASK
    if holding.circle is Circle.HOUSEHOLD:
        return Verdict.ALLOW if audience.role is AudienceRole.HOUSEHOLD else Verdict.ASK
    return Verdict.ALLOW if is_theirs else Verdict.ASK


def _words(held: Sequence[Holding], audience: Audience) -> str:
    named = ", ".join(f"{one.what} ({one.belongs_to(audience)})" for one in held)
    return f"shows {named} to {audience.in_words}"


def _reason(holding: Holding, verdict: Verdict, audience: Audience) -> str:
    if verdict is Verdict.DENY:
        return f"{holding.what} is {holding.belongs_to(audience)}, who alone may see it"
    whom = "a group" if audience.group else f"a {audience.role.value}"
    return f"it is not shared with {whom}; {_SHARED}"
