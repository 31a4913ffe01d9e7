"""Proof of a key or token that somebody has just typed: its service is asked.

Nothing is received or sent there; what cannot be asked now is neither good nor bad.
"""

import asyncio
import enum
import os
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings
from agent.errors import BarnacleError, ChannelRefused, ConfigRefused, KeyRefused
from agent.net.http import HttpClient
from agent.providers.create import service_provider
from agent.providers.settings import ProviderSettings
from agent.settings import Paths
from agent.system.clock import SystemClock

# Somebody sits and waits; a service that takes longer is not well
ASK_TIMEOUT_S = 20.0
# Being asked for its models needs none
_NO_MODEL = "none"


class ProofVerdict(enum.Enum):
    """Verdict on a key or token."""

    # It was taken
    GOOD = "good"
    # It was refused for good: it has to be another one
    REFUSED = "refused"
    # Nobody answered, or with something else
    UNKNOWN = "unknown"


class Proof(Struct, frozen=True):
    """Proof in a sentence; `models` are those that the service lists."""

    verdict: ProofVerdict
    said: str
    models: tuple[str, ...] = ()


async def prove_provider(settings: ProviderSettings) -> Proof:
    """Ask a model service for its models."""
    wanted = msgspec.structs.replace(settings, model=settings.model or _NO_MODEL)

    async def ask(http: HttpClient) -> Proof:
        models = await service_provider(wanted, {}, http).list_models()
        return Proof(ProofVerdict.GOOD, "the service accepts the key", models)

    return await _proven(ask)


async def prove_platform(name: str, channels: ChannelsSettings, paths: Paths) -> Proof:
    """Ask a platform whom it takes the agent for."""

    async def ask(http: HttpClient) -> Proof:
        reach = PlatformContext(paths, os.environ, http, SystemClock())
        return Proof(ProofVerdict.GOOD, await platform(name).identify(channels, reach))

    return await _proven(ask)


async def _proven(ask: Callable[[HttpClient], Awaitable[Proof]]) -> Proof:
    http = HttpClient()
    try:
        async with asyncio.timeout(ASK_TIMEOUT_S):
            return await ask(http)
    except (KeyRefused, ChannelRefused, ConfigRefused) as err:
        return Proof(ProofVerdict.REFUSED, str(err))
    except BarnacleError as err:
        return Proof(ProofVerdict.UNKNOWN, str(err))
    except TimeoutError:
        return Proof(ProofVerdict.UNKNOWN, f"no answer within {ASK_TIMEOUT_S:.0f} s")
    finally:
        await http.aclose()
