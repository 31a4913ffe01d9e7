import pytest
from msgspec.structs import replace

from agent.errors import ChannelRefused
from agent.health.base import Level, Patient
from agent.health.checks import channels
from agent.health.doctor import examine


@pytest.mark.parametrize(("runs", "said"), [(True, "attaches to it"), (False, "starts one")])
async def test_it_is_told_which_agent_a_chat_talks_to(
    patient: Patient, *, runs: bool, said: str
) -> None:
    finding = await channels.check_chat(replace(patient, takes_terminals=lambda: runs))
    assert finding.level is Level.OK
    assert said in finding.sentence


async def test_an_agent_that_is_not_for_us_is_told_with_the_remedy(patient: Patient) -> None:
    def refused() -> bool:
        raise ChannelRefused("its owner can let you into its group")

    found = await examine(replace(patient, takes_terminals=refused), {"chat": channels.check_chat})
    assert found["chat"].level is Level.FAILED
    assert "let you into its group" in found["chat"].sentence
