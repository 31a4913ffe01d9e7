from msgspec.structs import replace

from agent.health.base import Level, Patient
from agent.health.checks import network


async def test_what_was_spent_is_told(patient: Patient) -> None:
    finding = await network.check_spending(patient)
    assert (finding.level, finding.sentence) == (Level.OK, "nothing today")


async def test_a_limit_that_is_reached_is_told_with_its_key_and_remedy(patient: Patient) -> None:
    reached = "provider.daily_limit_usd is reached, 1.00 of 1.00 USD"
    finding = await network.check_spending(replace(patient, find_spending=lambda: ("", reached)))
    assert finding.level is Level.WARNING
    assert finding.sentence.startswith(f"{reached}: ")
    assert "raise the limit" in finding.sentence
