"""What every platform does, and what only encrypted rooms have: against Element's own library."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contracts.channel import CHECKS
from tests.contracts.test_channel import Check
from tests.fakes import element_program, synapse
from tests.fakes.matrix_sealed_platform import SealedMatrixPlatform
from tests.fakes.relay import Relay

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[SealedMatrixPlatform]:
    if reason := element_program.absence():
        pytest.skip(reason)
    server = synapse.shared()
    relay = Relay(server.port)
    await relay.start()
    platform = await asyncio.to_thread(SealedMatrixPlatform, server, relay, tmp_path)
    yield platform
    platform.element.close()
    await platform.http.aclose()
    await relay.stop()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_an_encrypted_room_is_a_room(check: Check, platform: SealedMatrixPlatform) -> None:
    await check(platform)
