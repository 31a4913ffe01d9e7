"""Who reads an answer, by our own store of people and never by what a platform says."""

from pathlib import Path

import pytest

from agent.access.admission import Admitted
from agent.access.audience import audience_of
from agent.messages import Inbound, Provenance
from agent.security.access import AudienceRole
from tests.fakes.household import GUEST, LET_IN, OWNER, STRANGER, USER, Household, said


async def through_the_door(household: Household, inbound: Inbound) -> Inbound:
    admitted = await household.door.admit(inbound)
    assert isinstance(admitted, Admitted)
    return admitted.message


@pytest.mark.parametrize(
    ("sender", "role"),
    [
        (OWNER, AudienceRole.OWNER),
        (USER, AudienceRole.HOUSEHOLD),
        (GUEST, AudienceRole.GUEST),
        (STRANGER, AudienceRole.STRANGER),
    ],
)
async def test_everybody_is_who_the_owner_let_in(
    tmp_path: Path, sender: str, role: AudienceRole
) -> None:
    household = Household(tmp_path)
    group = said("hello", sender, reply_target=LET_IN, is_group=True)
    found = audience_of(await through_the_door(household, group), household.people)
    assert (found.role, found.group) == (role, f"telegram:{LET_IN}")
    if sender != STRANGER:
        alone = await through_the_door(household, said("hello", sender))
        found = audience_of(alone, household.people)
        assert (found.role, found.group, found.name) == (role, "", role.value)


async def test_a_forwarded_text_is_still_read_by_the_owner_alone(tmp_path: Path) -> None:
    household = Household(tmp_path)
    forwarded = said("hello", OWNER, is_forwarded=True)
    found = audience_of(await through_the_door(household, forwarded), household.people)
    assert found.is_owner_alone


async def test_who_was_revoked_is_a_stranger_to_their_own_jobs(tmp_path: Path) -> None:
    household = Household(tmp_path)
    person = household.people.named("user")
    job = said("every day", USER, strand="job-x", person=person.person_id)
    assert audience_of(job, household.people).role is AudienceRole.HOUSEHOLD
    household.people.revoke(person)
    assert audience_of(job, household.people).role is AudienceRole.STRANGER


def test_people_of_this_machine_are_known_by_what_their_words_are_worth(tmp_path: Path) -> None:
    people = Household(tmp_path).people
    other = said("x", "uid-1000", "terminal", person="uid-1000", provenance=Provenance.USER)
    assert audience_of(other, people).role is AudienceRole.HOUSEHOLD
    local = said("x", "owner", "terminal", person="owner", provenance=Provenance.OWNER)
    assert audience_of(local).is_owner_alone
