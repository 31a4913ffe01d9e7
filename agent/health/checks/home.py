"""Checks of the home around: voice assistants, Home Assistant, other devices; and the browser."""

import asyncio
from collections.abc import Mapping

from agent.errors import BarnacleError, ChannelUnavailable
from agent.health.base import Check, Finding, Patient, Probe

# Within what a check is given, so that it is this sentence that is read
ANSWER_TIMEOUT_S = 8.0


def home_checks(patient: Patient) -> Mapping[str, Check]:
    """By the tables that are configured."""
    return {name: _looking(probe) for name, probe in patient.home.items()}


def _looking(probe: Probe) -> Check:
    async def look(_patient: Patient) -> Finding:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return Finding.ok(await probe())
        except TimeoutError:
            return Finding.warning(
                f"no answer within {ANSWER_TIMEOUT_S:g} s: does it run, and is the network up?"
            )
        except ChannelUnavailable as err:
            return Finding.warning(str(err))
        except BarnacleError as err:
            return Finding.failed(str(err))

    return look
