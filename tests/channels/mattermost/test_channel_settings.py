from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, MattermostSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.canaries import secret
from tests.fakes import mattermost_server
from tests.fakes.mattermost_server import ME, TOKEN


def wanted(url: str, token: str = "") -> ChannelsSettings:
    return ChannelsSettings(mattermost=MattermostSettings(base_url=url, token=Secret(token)))


def reach(folder: Path, http: HttpClient, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, http, SystemClock())


async def test_a_server_says_who_the_bot_is(tmp_path: Path) -> None:
    http = HttpClient()
    async with mattermost_server.running() as server:
        given = reach(tmp_path, http, BARNACLE_MATTERMOST_TOKEN=TOKEN)
        said = await platform("mattermost").identify(wanted(server.url), given)
        with pytest.raises(ChannelRefused, match="make a new one"):
            await platform("mattermost").identify(
                wanted(server.url, secret("another")), reach(tmp_path, http)
            )
        await http.aclose()
    assert said == f"@barnacle (id {ME}) is there"


async def test_a_server_that_is_away_is_no_refusal(tmp_path: Path) -> None:
    http = HttpClient()
    with pytest.raises(ChannelUnavailable, match=r"127\.0\.0\.1:1 could not be reached"):
        await platform("mattermost").identify(
            wanted("http://127.0.0.1:1", TOKEN), reach(tmp_path, http)
        )
    await http.aclose()


def test_what_is_missing_or_no_token_is_refused_and_not_repeated(tmp_path: Path) -> None:
    given = reach(tmp_path, HttpClient())
    with pytest.raises(ConfigRefused, match="has no base_url"):
        platform("mattermost").open(wanted("", TOKEN), given)
    with pytest.raises(ConfigRefused, match="BARNACLE_MATTERMOST_TOKEN"):
        platform("mattermost").open(wanted("http://x"), given)
    with pytest.raises(ConfigRefused, match=r"omit .Bearer") as caught:
        platform("mattermost").open(wanted("http://x", f"Bearer {TOKEN}"), given)
    assert TOKEN not in str(caught.value)


def test_the_token_is_told_to_whoever_keeps_it_out_of_texts() -> None:
    [told] = platform("mattermost").secrets(wanted("http://x", TOKEN), {})
    assert told.reveal() == TOKEN
