"""Does each chat platform know the agent, and may it be heard there? A check for each."""

import asyncio
from collections.abc import Mapping

from agent.errors import ChannelError, ChannelUnavailable, ConfigRefused
from agent.health.base import Check, Finding, Patient, Probe

# Within what a check is given, so that it is this sentence that is read
ANSWER_TIMEOUT_S = 8.0


def checks_of(patient: Patient) -> Mapping[str, Check]:
    """By the names of the configured platforms."""
    return {name: _looking(probe) for name, probe in patient.platforms.items()}


def _looking(probe: Probe) -> Check:
    async def look(_patient: Patient) -> Finding:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return Finding.ok(await probe())
        except TimeoutError:
            return Finding.warning(
                f"no answer within {ANSWER_TIMEOUT_S:g} s: is there a network, and does a firewall "
                "let it through? Answers wait until it is there"
            )
        except ChannelUnavailable as err:
            return Finding.warning(f"{err}; answers wait until it is there")
        except (ChannelError, ConfigRefused) as err:
            return Finding.failed(str(err))

    return look
