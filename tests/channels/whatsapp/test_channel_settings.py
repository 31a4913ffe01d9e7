from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, WhatsAppSettings
from agent.channels.whatsapp.events import verify_token
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.canaries import secret
from tests.fakes import whatsapp_server
from tests.fakes.whatsapp_server import APP_SECRET, NUMBER_ID, TOKEN


def wanted(url: str = "https://graph.facebook.com", **changed: object) -> ChannelsSettings:
    given = {"phone_number_id": NUMBER_ID, "token": TOKEN, "app_secret": APP_SECRET} | changed
    return ChannelsSettings(
        whatsapp=WhatsAppSettings(
            phone_number_id=str(given["phone_number_id"]),
            token=Secret(str(given["token"])),
            app_secret=Secret(str(given["app_secret"])),
            base_url=url,
        )
    )


def reach(folder: Path, http: HttpClient | None = None) -> PlatformContext:
    return PlatformContext(Paths(None, folder), {}, http or HttpClient(), SystemClock())


def test_both_secrets_are_told_to_whoever_keeps_them_out_of_texts() -> None:
    given = {"BARNACLE_WHATSAPP_TOKEN": TOKEN, "BARNACLE_WHATSAPP_APP_SECRET": APP_SECRET}
    told = platform("whatsapp").secrets(ChannelsSettings(whatsapp=WhatsAppSettings()), given)
    assert [one.reveal() for one in told] == [TOKEN, APP_SECRET]


@pytest.mark.parametrize(
    ("missing", "fix"),
    [("phone_number_id", "API Setup"), ("token", "token_file"), ("app_secret", "app_secret_file")],
)
def test_what_is_missing_is_said_with_where_to_get_it(
    missing: str, fix: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigRefused, match=fix):
        platform("whatsapp").open(wanted(**{missing: ""}), reach(tmp_path))


async def test_the_platform_says_which_number_it_is_and_what_to_paste_there(
    tmp_path: Path,
) -> None:
    http = HttpClient()
    async with whatsapp_server.running() as server:
        said = await platform("whatsapp").identify(wanted(server.url), reach(tmp_path, http))
        assert said.startswith("+1 555-078-3881 (Barnacle); ")
        assert said.endswith(
            f"/whatsapp of the gateway, with the verify token {verify_token(APP_SECRET)}"
        )
        other = secret("another")
        with pytest.raises(ChannelRefused, match="token_file") as caught:
            await platform("whatsapp").identify(
                wanted(server.url, token=other), reach(tmp_path, http)
            )
        assert other not in str(caught.value)
        with pytest.raises(ChannelRefused, match="phone_number_id"):
            await platform("whatsapp").identify(
                wanted(server.url, phone_number_id="1"), reach(tmp_path, http)
            )
    with pytest.raises(ChannelUnavailable, match="could not be reached"):
        await platform("whatsapp").identify(wanted(server.url), reach(tmp_path, http))
    await http.aclose()
