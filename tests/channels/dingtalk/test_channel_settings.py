from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, DingTalkSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.canaries import secret
from tests.fakes import dingtalk_server
from tests.fakes.dingtalk_server import CLIENT_ID, SECRET, Fault

OTHER = secret("another")


def wanted(url: str, given: str = SECRET) -> ChannelsSettings:
    told = DingTalkSettings(base_url=url, client_id=CLIENT_ID, client_secret=Secret(given))
    return ChannelsSettings(dingtalk=told)


def reach(folder: Path, http: HttpClient | None = None, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, http or HttpClient(), SystemClock())


def test_a_secret_is_found_in_the_environment_and_told_to_whoever_keeps_it_out_of_texts() -> None:
    given = {"BARNACLE_DINGTALK_CLIENT_SECRET": SECRET}
    told = platform("dingtalk").secrets(ChannelsSettings(dingtalk=DingTalkSettings()), given)
    assert [one.reveal() for one in told] == [SECRET]


@pytest.mark.parametrize("client_id", ["", "ding/../x"])
def test_without_an_app_it_is_said_where_to_make_one(client_id: str, tmp_path: Path) -> None:
    told = DingTalkSettings(client_id=client_id, client_secret=Secret(SECRET))
    settings = ChannelsSettings(dingtalk=told)
    with pytest.raises(ConfigRefused, match=r"open-dev\.dingtalk\.com") as caught:
        platform("dingtalk").open(settings, reach(tmp_path))
    assert SECRET not in str(caught.value)


async def test_the_platform_says_which_app_is_there_and_that_it_can_hear(tmp_path: Path) -> None:
    http = HttpClient()
    async with dingtalk_server.running() as server:
        here = platform("dingtalk")
        said = await here.identify(wanted(server.url), reach(tmp_path, http))
        assert said == f"the app {CLIENT_ID} is there, and hears by Stream mode"
        with pytest.raises(ChannelRefused, match="client_secret") as caught:
            await here.identify(wanted(server.url, OTHER), reach(tmp_path, http))
        assert OTHER not in str(caught.value)
        server.faults.append(Fault("connections/open", 502))
        with pytest.raises(ChannelUnavailable, match="in trouble"):
            await here.identify(wanted(server.url), reach(tmp_path, http))
        assert not server.messages
    await http.aclose()
