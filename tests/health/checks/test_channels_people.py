import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.access.people import PeopleStore
from agent.access.roles import PersonRole
from agent.health.base import Level, Patient
from agent.health.checks import channels
from tests.fakes.clock import SteppedClock
from tests.fakes.household import account


async def well() -> str:
    return "it is there"


async def test_without_a_platform_nobody_has_to_be_let_in(patient: Patient) -> None:
    found = await channels.check_people(patient)
    assert (found.level, found.sentence) == (
        Level.OK,
        "no people paired; only users of this machine have access",
    )
    assert not patient.state_dir.exists()


async def test_a_platform_without_an_owner_says_how_to_become_it(patient: Patient) -> None:
    found = await channels.check_people(replace(patient, platforms={"signal": well}))
    assert found.level is Level.WARNING
    assert "barnacle pair" in found.sentence


async def test_those_who_are_let_in_are_counted_by_role(patient: Patient) -> None:
    store = PeopleStore(patient.state_dir / "people.json", SteppedClock())
    for number, rank in enumerate((PersonRole.OWNER, PersonRole.GUEST, PersonRole.GUEST)):
        store.let_in(rank, account(str(number)))
    found = await channels.check_people(replace(patient, platforms={"telegram": well}))
    assert (found.level, found.sentence) == (Level.OK, "1 owner, 2 guest")


async def test_a_list_that_cannot_be_read_is_said(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    PeopleStore(patient.state_dir / "people.json", SteppedClock()).let_in(
        PersonRole.OWNER, account("1")
    )

    def no_access(path: Path, _mode: int) -> bool:
        assert path.name == "people.json"
        return False

    monkeypatch.setattr(os, "access", no_access)
    found = await channels.check_people(patient)
    assert found.level is Level.FAILED
    assert "nobody has access" in found.sentence
