"""A recording of the fake, replayed: what was understood is understood again."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.app.gateway import recording_gateway
from agent.channels.catalog import platform
from agent.channels.record.recording import record
from agent.channels.settings import (
    ChannelsSettings,
    SlackSettings,
    TelegramSettings,
    WhatsAppSettings,
)
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.gateway.settings import GatewaySettings
from tests.fakes import slack_server, telegram_server, whatsapp_server
from tests.fakes.cassette_player import channels_of, lines_of, replayed
from tests.fakes.irc_server import free_port
from tests.fakes.slack_poster import SIGNING_SECRET, posting
from tests.fakes.slack_server import BOT_TOKEN
from tests.fakes.slack_world import ANNA, DM
from tests.fakes.whatsapp_server import APP_SECRET, NUMBER_ID, WhatsAppServer
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


async def test_what_is_pushed_needs_a_gateway(tmp_path: Path) -> None:
    channels = ChannelsSettings(whatsapp=WhatsAppSettings())
    with pytest.raises(ConfigRefused, match="posts to the gateway"):
        await record(platform("whatsapp"), channels, tmp_path / "a", 1.0, print)


@contextlib.asynccontextmanager
async def recording_posts(
    name: str, channels: ChannelsSettings, cassette: Path, port: int, told: list[str]
) -> AsyncIterator[None]:
    wanted = GatewaySettings(listen=f"127.0.0.1:{port}")
    serve = recording_gateway(wanted, cassette.parent, {})
    recording = record(platform(name), channels, cassette, LONG_S, told.append, serve)
    task = asyncio.create_task(recording)
    try:
        yield
        await wait_until(lambda: '"post"' in (cassette.read_text() if cassette.exists() else ""))
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_whatsapps_posts_are_recorded_and_heard_again(tmp_path: Path) -> None:
    cassette, told, port = tmp_path / "whatsapp.jsonl", list[str](), free_port()
    async with whatsapp_server.running() as server:
        server.gateway_port = port
        table = WhatsAppSettings(
            phone_number_id=NUMBER_ID,
            token=Secret(whatsapp_server.TOKEN),
            app_secret=Secret(APP_SECRET),
            base_url=server.url,
        )
        channels = ChannelsSettings(whatsapp=table)
        async with recording_posts("whatsapp", channels, cassette, port, told):
            # Whoever signs with another secret is nobody whose words are kept
            forger = dataclasses.replace(server, signs_with="another")
            await wait_until(lambda: _is_refused(forger))
            await server.say("hello, I am Anna")
            await wait_until(lambda: told)
    content, lines = cassette.read_text(), lines_of(cassette)
    assert "Anna" not in content
    assert NUMBER_ID not in content
    assert APP_SECRET not in content
    assert "forged" not in content
    assert [sorted(line) for line in lines if "post" in line] == [
        ["form", "headers", "path", "post", "status"]
    ]
    made = channels_of("whatsapp", lines)
    (heard,) = await replayed(platform("whatsapp"), made, lines, tmp_path / "again")
    (understood,) = [line["heard"] for line in lines if "heard" in line]
    assert (heard.text, heard.sender) == (understood["text"], understood["sender"])
    assert len(heard.text) == len("hello, I am Anna")


async def _is_refused(server: WhatsAppServer) -> bool:
    body = whatsapp_server.body_of({"messages": [server.message("text", text={"body": "forged"})]})
    return (await server.ask("POST", "/whatsapp", body, server.signature(body))).status == 401


async def test_slacks_posts_and_forms_are_recorded_and_heard_again(tmp_path: Path) -> None:
    cassette, told, port = tmp_path / "slack.jsonl", list[str](), free_port()
    async with slack_server.running() as server, posting(server.world, port):
        table = SlackSettings(
            token=Secret(BOT_TOKEN), signing_secret=Secret(SIGNING_SECRET), base_url=server.url
        )
        channels = ChannelsSettings(slack=table)
        async with recording_posts("slack", channels, cassette, port, told):
            await wait_until(lambda: server.world.lines)
            server.world.post(DM, ANNA, "hello, I am Anna")
            typed = {"command": "/barnacle", "text": "status", "user_id": ANNA, "channel_id": DM}
            server.world.tell("slash_commands", typed)
            await wait_until(lambda: len(told) == 2)
    content, lines = cassette.read_text(), lines_of(cassette)
    assert "Anna" not in content
    assert SIGNING_SECRET not in content
    assert [line["form"] for line in lines if "post" in line] == [False, True]
    made = channels_of("slack", lines)
    heard = await replayed(platform("slack"), made, lines, tmp_path / "again")
    understood = [line["heard"] for line in lines if "heard" in line]
    assert [(one.text, one.sender) for one in heard] == [
        (one["text"], one["sender"]) for one in understood
    ]
