from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, QqSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.canaries import secret
from tests.fakes import qq_server
from tests.fakes.qq_server import APP_ID, BOT, SECRET, Fault

OTHER = secret("another")


def wanted(url: str = "https://api.sgroup.qq.com", given: str = SECRET) -> ChannelsSettings:
    settings = QqSettings(base_url=url, auth_url=url, app_id=APP_ID, app_secret=Secret(given))
    return ChannelsSettings(qq=settings)


def reach(folder: Path, http: HttpClient | None = None, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, http or HttpClient(), SystemClock())


def test_a_secret_is_found_in_the_environment_and_told_to_whoever_keeps_it_out_of_texts() -> None:
    given = {"BARNACLE_QQ_APP_SECRET": SECRET}
    told = platform("qq").secrets(ChannelsSettings(qq=QqSettings()), given)
    assert [one.reveal() for one in told] == [SECRET]


def test_without_a_bot_it_is_said_where_to_make_one(tmp_path: Path) -> None:
    for given in (QqSettings(app_secret=Secret(SECRET)), QqSettings(app_id=APP_ID)):
        with pytest.raises(ConfigRefused, match=r"https://q\.qq\.com") as caught:
            platform("qq").open(ChannelsSettings(qq=given), reach(tmp_path))
        assert SECRET not in str(caught.value)


async def test_the_platform_says_who_the_bot_is(tmp_path: Path) -> None:
    http = HttpClient()
    async with qq_server.running() as server:
        said = await platform("qq").identify(wanted(server.url), reach(tmp_path, http))
        assert said == f"Barnacle (id {BOT}) is there"
        with pytest.raises(ChannelRefused, match="app_secret") as caught:
            await platform("qq").identify(wanted(server.url, OTHER), reach(tmp_path, http))
        assert OTHER not in str(caught.value)
        server.faults.append(Fault("/users/@me", 502))
        with pytest.raises(ChannelUnavailable, match="in trouble"):
            await platform("qq").identify(wanted(server.url), reach(tmp_path, http))
    await http.aclose()


def test_a_channel_is_made_of_the_configuration(tmp_path: Path) -> None:
    channel = platform("qq").open(wanted(), reach(tmp_path))
    assert (channel.name, channel.abilities.answers_only) == ("qq", True)
