from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.channels.qq.channel import QqChannel
from agent.net.http import HttpClient
from tests.fakes import qq_server
from tests.fakes.qq_platform import channel_at
from tests.fakes.qq_server import QqServer
from tests.waits import wait_until

# As the platform names whoever is called in a group that it tells the bot everything of
ME = {"id": "42F7", "member_openid": "42F7", "is_you": True, "bot": True, "scope": "single"}


@dataclass
class World:
    server: QqServer
    http: HttpClient
    folder: Path

    def channel(self, **more: Any) -> QqChannel:
        return channel_at(self.server, self.http, self.folder, **more)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    http = HttpClient()
    async with qq_server.running() as server:
        yield World(server, http, tmp_path)
        await http.aclose()


async def begun(world: World) -> None:
    await wait_until(lambda: world.server.sessions)
