import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent.dispatch.people import People
from agent.dispatch.rank import Rank
from agent.health.base import Level, Patient
from agent.health.checks import people
from tests.fakes.clock import SteppedClock
from tests.fakes.household import account


async def well() -> str:
    return "it is there"


async def test_without_a_platform_nobody_has_to_be_let_in(patient: Patient) -> None:
    found = await people.check(patient)
    assert (found.level, found.sentence) == (
        Level.OK,
        "nobody is let in but who sits at the machine",
    )
    assert not patient.state_dir.exists()


async def test_a_platform_without_an_owner_says_how_to_become_it(patient: Patient) -> None:
    found = await people.check(replace(patient, platforms={"signal": well}))
    assert found.level is Level.WARNING
    assert "barnacle pair" in found.sentence


async def test_those_who_are_let_in_are_counted_by_role(patient: Patient) -> None:
    store = People(patient.state_dir / "people.json", SteppedClock())
    for number, rank in enumerate((Rank.OWNER, Rank.GUEST, Rank.GUEST)):
        store.let_in(rank, account(str(number)))
    found = await people.check(replace(patient, platforms={"telegram": well}))
    assert (found.level, found.sentence) == (Level.OK, "1 owner, 2 guest")


async def test_a_list_that_cannot_be_read_is_said(
    patient: Patient, monkeypatch: pytest.MonkeyPatch
) -> None:
    People(patient.state_dir / "people.json", SteppedClock()).let_in(Rank.OWNER, account("1"))

    def no_access(path: Path, _mode: int) -> bool:
        assert path.name == "people.json"
        return False

    monkeypatch.setattr(os, "access", no_access)
    found = await people.check(patient)
    assert found.level is Level.FAILED
    assert "nobody is let in" in found.sentence
