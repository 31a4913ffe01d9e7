"""Who is shown what: every role, every circle, alone and in a group."""

import itertools

import pytest

from agent.messages import Provenance
from agent.security.access import (
    AT_THE_DEVICE,
    FREE,
    RULE,
    Audience,
    AudienceRole,
    Circle,
    DataReach,
    Holding,
    may_leave,
    may_read,
    weighed,
)
from agent.security.policy import Decision, Verdict
from agent.security.received import folder_of_group, folder_of_person

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY
OWNERS = Holding("list.txt")
HOUSEHOLDS = Holding("plans", Circle.HOUSEHOLD, "")
EVERYBODYS = Holding("menu", Circle.EVERYBODY, "")
ANNAS = Holding("anna/list.txt", Circle.PERSON, "Anna")
GROUP = "telegram:-100"


def who(role: AudienceRole, group: str = "") -> Audience:
    names = {AudienceRole.OWNER: ("owner", "Max"), AudienceRole.HOUSEHOLD: ("a1b2", "anna")}
    person, name = names.get(role, ("c3d4", "Ben"))
    return Audience(role, person, name, group)


@pytest.mark.parametrize(
    ("role", "alone", "in_group"),
    [
        # Of the owner, of the household, of everybody, of Anna
        (AudienceRole.OWNER, (ALLOW, ALLOW, ALLOW, ALLOW), (ASK, ASK, ALLOW, DENY)),
        (AudienceRole.HOUSEHOLD, (ASK, ALLOW, ALLOW, ALLOW), (ASK, ASK, ALLOW, ASK)),
        (AudienceRole.GUEST, (ASK, ASK, ALLOW, DENY), (ASK, ASK, ALLOW, DENY)),
        (AudienceRole.STRANGER, (ASK, ASK, ALLOW, DENY), (ASK, ASK, ALLOW, DENY)),
    ],
)
def test_everybody_gets_what_is_theirs(
    role: AudienceRole, alone: tuple[Verdict, ...], in_group: tuple[Verdict, ...]
) -> None:
    every = (OWNERS, HOUSEHOLDS, EVERYBODYS, ANNAS)
    assert tuple(may_read([one], who(role)).verdict for one in every) == alone
    assert tuple(may_read([one], who(role, GROUP)).verdict for one in every) == in_group


def test_what_a_stranger_is_called_makes_them_nobody() -> None:
    anna = Audience(AudienceRole.STRANGER, "s3s3", "Anna", GROUP)
    assert may_read([ANNAS], anna).verdict is DENY
    assert not Audience(AudienceRole.STRANGER, "s3s3").owns(Holding("", person=""))


def test_no_role_gets_more_in_a_group_than_alone() -> None:
    order = [DENY, ASK, ALLOW]
    for role, one in itertools.product(AudienceRole, (OWNERS, HOUSEHOLDS, EVERYBODYS, ANNAS)):
        alone, group = may_read([one], who(role)), may_read([one], who(role, GROUP))
        assert order.index(group.verdict) <= order.index(alone.verdict)


def test_the_strictest_of_several_decides() -> None:
    guest = who(AudienceRole.GUEST)
    assert may_read([EVERYBODYS, OWNERS], guest).verdict is ASK
    assert may_read([OWNERS, ANNAS, EVERYBODYS], guest).verdict is DENY
    assert may_read([EVERYBODYS], guest) == FREE
    assert may_read([], guest) == FREE


def test_the_words_say_whose_data_goes_where() -> None:
    found = may_read([OWNERS], who(AudienceRole.OWNER, GROUP))
    assert found.words == "shows list.txt (yours) to the group telegram:-100"
    assert found.reason.startswith("it is not shared with a group; ")
    found = may_read([OWNERS, HOUSEHOLDS], who(AudienceRole.GUEST))
    assert found.words == "shows list.txt (yours), plans (the household's) to Ben"
    assert found.reason.startswith("it is not shared with a guest; ")
    found = may_read([ANNAS], who(AudienceRole.STRANGER))
    assert found.reason == "anna/list.txt is Anna's, who alone may see it"
    assert may_read([OWNERS], Audience(AudienceRole.GUEST, "c3d4")).words.endswith(" to c3d4")


@pytest.mark.parametrize("trust", Provenance)
@pytest.mark.parametrize("holds_private", [True, False])
def test_private_data_and_low_trust_leave_only_with_a_yes(
    trust: Provenance, *, holds_private: bool
) -> None:
    reach = may_leave(trust, holds_private=holds_private)
    asks = holds_private and trust is not Provenance.OWNER
    assert reach.verdict is (ASK if asks else ALLOW)


@pytest.mark.parametrize(
    ("decided", "reach", "verdict", "rule"),
    [
        (ALLOW, ALLOW, ALLOW, "policy"),
        (ALLOW, ASK, ASK, RULE),
        (ALLOW, DENY, DENY, RULE),
        (ASK, ALLOW, ASK, "policy"),
        (ASK, ASK, ASK, RULE),
        (ASK, DENY, DENY, RULE),
        (DENY, ALLOW, DENY, "policy"),
        (DENY, ASK, DENY, "policy"),
        (DENY, DENY, DENY, "policy"),
    ],
)
def test_neither_loosens_the_other(
    decided: Verdict, reach: Verdict, verdict: Verdict, rule: str
) -> None:
    decision = weighed(
        Decision(decided, "policy", "why"), DataReach(reach, "shows it", "whose it is")
    )
    assert (decision.verdict, decision.rule) == (verdict, rule)
    if (decided, reach) == (ASK, ASK):
        assert decision.reason == "whose it is; why"


def test_the_owner_at_the_device_reads_everything() -> None:
    assert may_read([OWNERS, HOUSEHOLDS, ANNAS], AT_THE_DEVICE) == FREE


def test_what_was_sent_into_a_group_is_the_groups() -> None:
    sent = Holding("a.pdf", person=folder_of_group(GROUP), by_folder=True)
    assert may_read([sent], who(AudienceRole.GUEST, GROUP)).verdict is ALLOW
    assert may_read([sent], who(AudienceRole.GUEST, "telegram:-200")).verdict is not ALLOW
    assert may_read([sent], who(AudienceRole.GUEST)).verdict is not ALLOW


def test_what_a_person_sent_alone_does_not_go_into_a_group_by_itself() -> None:
    sent = Holding("a.pdf", person=folder_of_person("c3d4"), by_folder=True)
    assert may_read([sent], who(AudienceRole.GUEST)).verdict is ALLOW
    assert may_read([sent], who(AudienceRole.GUEST, GROUP)).verdict is not ALLOW
