from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, DiscordSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.canaries import secret
from tests.fakes import discord_server
from tests.fakes.discord_server import TOKEN, Fault

OTHER_TOKEN = f"MTIz.abc.{secret('another')}"


def wanted(url: str = "https://discord.com", token: str = TOKEN) -> ChannelsSettings:
    return ChannelsSettings(discord=DiscordSettings(base_url=url, token=Secret(token)))


def reach(folder: Path, http: HttpClient | None = None, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, http or HttpClient(), SystemClock())


def test_a_token_is_found_in_the_environment_and_told_to_whoever_keeps_it_out_of_texts() -> None:
    given = {"BARNACLE_DISCORD_TOKEN": TOKEN}
    told = platform("discord").secrets(ChannelsSettings(discord=DiscordSettings()), given)
    assert [one.reveal() for one in told] == [TOKEN]


def test_without_a_token_it_is_said_where_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match=r"discord\.com/developers"):
        platform("discord").open(ChannelsSettings(discord=DiscordSettings()), reach(tmp_path))


@pytest.mark.parametrize("token", [f"Bot {TOKEN}", "one.two", "a.b.c\x1f", f"{TOKEN}/../x"])
def test_a_token_that_is_none_is_refused_and_not_repeated(token: str, tmp_path: Path) -> None:
    with pytest.raises((ConfigRefused, ValueError)) as caught:
        platform("discord").open(wanted(token=token), reach(tmp_path))
    assert token not in str(caught.value)


async def test_the_platform_says_who_the_bot_is(tmp_path: Path) -> None:
    http = HttpClient()
    async with discord_server.running() as server:
        said = await platform("discord").identify(wanted(server.url), reach(tmp_path, http))
        assert said == "@barnacle (id 100000000000000099) is there"
        refused = wanted(server.url, OTHER_TOKEN)
        with pytest.raises(ChannelRefused, match="reset it") as caught:
            await platform("discord").identify(refused, reach(tmp_path, http))
        assert OTHER_TOKEN not in str(caught.value)
        server.faults.append(Fault("GET", "/users/@me", html=502))
        with pytest.raises(ChannelUnavailable, match="in trouble"):
            await platform("discord").identify(wanted(server.url), reach(tmp_path, http))
    await http.aclose()
