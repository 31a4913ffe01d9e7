from pathlib import Path

import pytest

from agent.health.base import Level, Patient
from agent.health.checks import service
from agent.update.records import Phase, Trial, UpdateOutcome, UpdateRecords
from tests.fakes.kernel import write


@pytest.fixture
def records(root: Path) -> UpdateRecords:
    """Of a card of ours that takes updates."""
    write(root, "usr/share/barnacle/image.json", "{}")
    write(root, "usr/share/barnacle/update-keys/a.pem", "key")
    return UpdateRecords(root / "data/update")


async def test_elsewhere_there_is_nothing_to_look_at(patient: Patient) -> None:
    found = await service.check_update(patient)
    assert found.level is Level.OK
    assert "the way it was installed" in found.sentence


@pytest.mark.usefixtures("records")
async def test_a_card_on_which_nothing_waits_is_well(patient: Patient) -> None:
    assert (await service.check_update(patient)).level is Level.OK


async def test_a_card_without_a_key_is_said(patient: Patient, root: Path) -> None:
    write(root, "usr/share/barnacle/image.json", "{}")
    found = await service.check_update(patient)
    assert found.level is Level.WARNING
    assert "--sign-key" in found.sentence


@pytest.mark.parametrize(
    ("phase", "said"),
    [(Phase.WRITTEN, "barnacle update try"), (Phase.TRYING, "on trial"), (Phase.RUNNING, "trial")],
)
async def test_what_is_not_settled_is_said(
    patient: Patient, records: UpdateRecords, phase: Phase, said: str
) -> None:
    records.write(Trial("B", "0.2.0", "0.1.0", phase))
    found = await service.check_update(patient)
    assert found.level is Level.WARNING
    assert said in found.sentence


async def test_an_update_that_was_not_kept_is_said_with_the_reason(
    patient: Patient, records: UpdateRecords
) -> None:
    records.write(
        UpdateOutcome("0.2.0", "0.1.0", is_kept=False, at_s=1.0, reason="its unit failed")
    )
    found = await service.check_update(patient)
    assert found.level is Level.WARNING
    assert "its unit failed" in found.sentence


async def test_one_that_was_kept_is_no_matter(patient: Patient, records: UpdateRecords) -> None:
    records.write(UpdateOutcome("0.2.0", "0.1.0", is_kept=True, at_s=1.0))
    assert (await service.check_update(patient)).level is Level.OK
