from agent.health.base import Level, Patient
from agent.health.checks import board
from agent.security.estop import record


async def test_not_set_is_well(patient: Patient) -> None:
    assert (await board.check_estop(patient)).level is Level.OK


async def test_set_is_told_with_its_reason_and_remedy(patient: Patient) -> None:
    record(patient.state_dir, "by Ada on telegram")
    finding = await board.check_estop(patient)
    assert finding.level is Level.WARNING
    assert "by Ada on telegram" in finding.sentence
    assert "barnacle estop --clear" in finding.sentence
