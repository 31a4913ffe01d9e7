"""A recording of the fake, replayed: what was understood is understood again."""

import asyncio
import json
from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.record.recording import record
from agent.channels.settings import ChannelsSettings, TelegramSettings, WhatsAppSettings
from agent.config import Secret
from agent.errors import ConfigRefused
from tests.fakes import telegram_server
from tests.fakes.cassette_player import lines_of, replayed
from tests.waits import wait_until

LONG_S = 60.0


async def test_what_was_recorded_is_heard_again_without_names_and_secrets(tmp_path: Path) -> None:
    cassette = tmp_path / "telegram.jsonl"
    told: list[str] = []
    async with telegram_server.running() as server:
        channels = ChannelsSettings(
            telegram=TelegramSettings(token=Secret(server.token), base_url=server.base_url)
        )
        await server.world.write("hello, I am Anna")
        task = asyncio.create_task(
            record(platform("telegram"), channels, cassette, LONG_S, told.append)
        )
        await wait_until(lambda: told)
        task.cancel()
        await asyncio.wait([task])
    content = cassette.read_text()
    assert "Anna" not in content
    assert server.token not in content
    lines = lines_of(cassette)
    (understood,) = [line["heard"] for line in lines if "heard" in line]
    (heard,) = await replayed(platform("telegram"), channels, lines, tmp_path / "again")
    assert (heard.text, heard.sender) == (understood["text"], understood["sender"])
    assert len(heard.text) == len("hello, I am Anna")
    assert json.loads(content.splitlines()[0])["path"].endswith("/getMe")


async def test_what_is_pushed_is_refused(tmp_path: Path) -> None:
    channels = ChannelsSettings(whatsapp=WhatsAppSettings())
    with pytest.raises(ConfigRefused, match="posts to the gateway"):
        await record(platform("whatsapp"), channels, tmp_path / "a", 1.0, print)
