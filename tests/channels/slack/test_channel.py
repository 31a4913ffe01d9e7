from pathlib import Path

import pytest

from agent.app.channels import open_channels
from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.push import PushReceiver
from agent.channels.settings import ChannelsSettings, SlackSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock
from tests.canaries import secret
from tests.fakes import slack_server
from tests.fakes.slack_poster import SIGNING_SECRET
from tests.fakes.slack_server import APP_TOKEN, BOT_TOKEN, Fault

OTHER_TOKEN = f"xoxb-9-{secret('another')}"


def wanted(
    url: str = "https://slack.com", token: str = BOT_TOKEN, app_token: str = APP_TOKEN
) -> ChannelsSettings:
    tokens = {"token": Secret(token), "app_token": Secret(app_token)}
    return ChannelsSettings(slack=SlackSettings(base_url=url, **tokens))


def reach(folder: Path, http: HttpClient | None = None, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, http or HttpClient(), SystemClock())


def test_its_secrets_are_found_in_the_environment_and_told_to_whoever_hides_them() -> None:
    given = {"BARNACLE_SLACK_TOKEN": BOT_TOKEN, "BARNACLE_SLACK_APP_TOKEN": APP_TOKEN}
    given["BARNACLE_SLACK_SIGNING_SECRET"] = SIGNING_SECRET
    told = platform("slack").secrets(ChannelsSettings(slack=SlackSettings()), given)
    assert [one.reveal() for one in told] == [BOT_TOKEN, APP_TOKEN, SIGNING_SECRET]


@pytest.mark.parametrize(
    ("token", "app_token", "where"),
    [("", APP_TOKEN, "OAuth & Permissions"), (BOT_TOKEN, "", "connections:write")],
)
def test_without_a_token_it_is_said_where_to_get_it(
    token: str, app_token: str, where: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigRefused, match=where):
        platform("slack").open(wanted(token=token, app_token=app_token), reach(tmp_path))


@pytest.mark.parametrize("token", [f"Bearer {BOT_TOKEN}", APP_TOKEN, f"{BOT_TOKEN}/../x", "xoxb-"])
def test_a_token_that_is_none_is_refused_and_not_repeated(token: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match="begins with xoxb-") as caught:
        platform("slack").open(wanted(token=token), reach(tmp_path))
    assert token == "xoxb-" or token not in str(caught.value)


def posted(url: str = "https://slack.com", secret: str = SIGNING_SECRET) -> ChannelsSettings:
    secrets = {"token": Secret(BOT_TOKEN), "signing_secret": Secret(secret)}
    return ChannelsSettings(slack=SlackSettings(base_url=url, **secrets))


async def test_with_a_signing_secret_it_is_posted_to(tmp_path: Path) -> None:
    channel = platform("slack").open(posted(), reach(tmp_path))
    assert isinstance(channel, PushReceiver)
    assert not isinstance(platform("slack").open(wanted(), reach(tmp_path)), PushReceiver)
    await channel.aclose()


@pytest.mark.parametrize("secret", ["too-short", "v0=abc", f"{SIGNING_SECRET} x", "ä" * 32])
def test_a_signing_secret_that_is_none_is_refused_and_not_repeated(
    secret: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigRefused, match="Basic Information") as caught:
        platform("slack").open(posted(secret=secret), reach(tmp_path))
    assert secret not in str(caught.value)


def test_two_ways_in_are_one_too_many(tmp_path: Path) -> None:
    given = reach(tmp_path, BARNACLE_SLACK_APP_TOKEN=APP_TOKEN)
    with pytest.raises(ConfigRefused, match="has both app_token and signing_secret"):
        platform("slack").open(posted(), given)


def test_without_a_gateway_nothing_can_be_posted_to_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match=r"channels\.slack needs the gateway"):
        open_channels(Settings(channels=posted()), reach(tmp_path))
    assert open_channels(Settings(channels=wanted()), reach(tmp_path))


async def test_who_is_posted_to_says_where(tmp_path: Path) -> None:
    http = HttpClient()
    async with slack_server.running() as server:
        said = await platform("slack").identify(posted(server.url), reach(tmp_path, http))
        known = "@barnacle (id U0BARNACLE) is in Lab"
        assert said == f"{known}; posts come to /slack of the gateway"
    await http.aclose()


async def test_the_platform_says_who_the_app_is(tmp_path: Path) -> None:
    http = HttpClient()
    async with slack_server.running() as server:
        said = await platform("slack").identify(wanted(server.url), reach(tmp_path, http))
        assert said == "@barnacle (id U0BARNACLE) is in Lab, and Socket Mode is on"
        assert not server.begun
    await http.aclose()


async def test_a_token_that_is_not_taken_is_named_with_the_way_to_another(tmp_path: Path) -> None:
    http = HttpClient()
    async with slack_server.running() as server:
        refused = wanted(server.url, OTHER_TOKEN)
        with pytest.raises(ChannelRefused, match=r"channels\.slack\.token .*apps") as caught:
            await platform("slack").identify(refused, reach(tmp_path, http))
        assert OTHER_TOKEN not in str(caught.value)
        refused = wanted(server.url, app_token="xapp-1-no")
        with pytest.raises(ChannelRefused, match=r"channels\.slack\.app_token"):
            await platform("slack").identify(refused, reach(tmp_path, http))
        server.faults.append(Fault(r"auth\.test", html=502))
        with pytest.raises(ChannelUnavailable, match="server error"):
            await platform("slack").identify(wanted(server.url), reach(tmp_path, http))
    await http.aclose()


@pytest.mark.parametrize("method", ["auth.test", "apps.connections.open"])
@pytest.mark.parametrize("code", ["org_login_required", "access_denied", "not_known_here"])
async def test_an_app_that_may_not_listen_needs_a_person_whatever_the_code(
    method: str, code: str, tmp_path: Path
) -> None:
    http = HttpClient()
    async with slack_server.running() as server:
        server.faults.append(Fault(method.replace(".", r"\."), code=code))
        with pytest.raises(ChannelRefused, match=rf"{code}.*https://api\.slack\.com/apps"):
            await platform("slack").identify(wanted(server.url), reach(tmp_path, http))
    await http.aclose()
