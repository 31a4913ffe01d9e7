from functools import partial
from pathlib import Path

from msgspec.structs import replace

from agent.gateway.address import gateway_address
from agent.gateway.settings import GatewaySettings
from agent.health.base import Level, Patient
from agent.health.checks import channels


def looking_at(patient: Patient, listen: str) -> Patient:
    def probe() -> str:
        return f"listens at {place().in_words}"

    place = partial(gateway_address, GatewaySettings(listen=listen), Path("/nowhere"), "")
    return replace(patient, probe_gateway=probe)


async def test_nobody_has_to_have_it(patient: Patient) -> None:
    finding = await channels.check_gateway(patient)
    assert finding.level is Level.OK
    assert "[gateway]" in finding.sentence


async def test_where_it_listens_is_said(patient: Patient) -> None:
    finding = await channels.check_gateway(looking_at(patient, "127.0.0.1:8475"))
    assert (finding.level, finding.sentence) == (Level.OK, "listens at 127.0.0.1:8475")


async def test_what_would_be_refused_at_the_start_is_said_before(patient: Patient) -> None:
    finding = await channels.check_gateway(looking_at(patient, "0.0.0.0:8475"))
    assert finding.level is Level.FAILED
    assert "others can reach" in finding.sentence
