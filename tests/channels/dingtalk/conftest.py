from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.channels.dingtalk.channel import DingTalkChannel
from agent.net.http import HttpClient
from tests.fakes import dingtalk_server
from tests.fakes.dingtalk_platform import channel_at
from tests.fakes.dingtalk_server import DingTalkServer
from tests.waits import wait_until


@dataclass
class World:
    server: DingTalkServer
    http: HttpClient
    folder: Path

    def channel(self, **more: Any) -> DingTalkChannel:
        return channel_at(self.server, self.http, self.folder, **more)

    async def connected(self) -> None:
        await wait_until(lambda: self.server.open)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    http = HttpClient()
    async with dingtalk_server.running() as server:
        yield World(server, http, tmp_path)
        await http.aclose()
