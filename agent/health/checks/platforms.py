"""Does each chat platform know the agent, and may it be heard there? A check for each."""

from collections.abc import Mapping

from agent.errors import ChannelError, ChannelUnavailable, ConfigRefused
from agent.health.base import Check, Finding, Patient, Probe


def checks_of(patient: Patient) -> Mapping[str, Check]:
    """By the names of the configured platforms; one that says so where there is none."""
    if not patient.platforms:
        return {"platforms": _none}
    return {name: _looking(probe) for name, probe in patient.platforms.items()}


def _looking(probe: Probe) -> Check:
    async def look(_patient: Patient) -> Finding:
        try:
            return Finding.ok(await probe())
        except ChannelUnavailable as err:
            return Finding.warning(f"{err}; answers wait until it is there")
        except (ChannelError, ConfigRefused) as err:
            return Finding.failed(str(err))

    return look


async def _none(_patient: Patient) -> Finding:
    return Finding.ok(
        "none is configured: [channels.telegram] or [channels.signal] lets people write to the "
        "agent"
    )
