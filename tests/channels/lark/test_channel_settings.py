from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, LarkSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.canaries import secret
from tests.fakes import lark_server
from tests.fakes.lark_server import APP_ID, SECRET, Fault

OTHER = secret("another")


def wanted(url: str = "https://open.feishu.cn", given: str = SECRET) -> ChannelsSettings:
    return ChannelsSettings(
        lark=LarkSettings(base_url=url, app_id=APP_ID, app_secret=Secret(given))
    )


def reach(folder: Path, http: HttpClient | None = None, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, http or HttpClient(), SystemClock())


def test_a_secret_is_found_in_the_environment_and_told_to_whoever_keeps_it_out_of_texts() -> None:
    given = {"BARNACLE_LARK_APP_SECRET": SECRET}
    told = platform("lark").secrets(ChannelsSettings(lark=LarkSettings()), given)
    assert [one.reveal() for one in told] == [SECRET]


@pytest.mark.parametrize("app_id", ["", "cli/../x"])
def test_without_an_app_it_is_said_where_to_make_one(app_id: str, tmp_path: Path) -> None:
    settings = ChannelsSettings(lark=LarkSettings(app_id=app_id, app_secret=Secret(SECRET)))
    with pytest.raises(ConfigRefused, match=r"open\.larksuite\.com/app") as caught:
        platform("lark").open(settings, reach(tmp_path))
    assert SECRET not in str(caught.value)


async def test_the_platform_says_who_the_bot_is(tmp_path: Path) -> None:
    http = HttpClient()
    async with lark_server.running() as server:
        said = await platform("lark").identify(wanted(server.url), reach(tmp_path, http))
        assert said == "Barnacle (id ou_bot) is there"
        with pytest.raises(ChannelRefused, match="app_secret") as caught:
            await platform("lark").identify(wanted(server.url, OTHER), reach(tmp_path, http))
        assert OTHER not in str(caught.value)
        server.faults.append(Fault("/bot/v3/info", 502))
        with pytest.raises(ChannelUnavailable, match="in trouble"):
            await platform("lark").identify(wanted(server.url), reach(tmp_path, http))
    await http.aclose()
