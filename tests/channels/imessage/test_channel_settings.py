from pathlib import Path

import pytest

from agent.app.channels import open_channels
from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, ImessageSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock
from tests.canaries import is_in, secret
from tests.fakes import bluebubbles_server
from tests.fakes.bluebubbles_server import PASSWORD, BlueBubblesServer
from tests.fakes.raw_server import serving


def wanted(url: str, password: str = "") -> ChannelsSettings:
    return ChannelsSettings(imessage=ImessageSettings(base_url=url, password=Secret(password)))


def reach(folder: Path, http: HttpClient, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, http, SystemClock())


async def test_without_a_mac_it_is_told_why_not_and_what_instead(tmp_path: Path) -> None:
    channels, given = wanted("", PASSWORD), reach(tmp_path, HttpClient())
    with pytest.raises(ConfigRefused, match=r"a Mac with its own.*BlueBubbles.*over Signal"):
        open_channels(Settings(channels=channels), given)
    with pytest.raises(ConfigRefused, match="take the table out"):
        await platform("imessage").identify(channels, given)
    with pytest.raises(ConfigRefused, match="BARNACLE_IMESSAGE_PASSWORD"):
        platform("imessage").open(wanted("http://x"), given)


async def test_a_server_says_whose_messages_it_has(tmp_path: Path) -> None:
    http = HttpClient()
    async with bluebubbles_server.running(BlueBubblesServer(private_api=True)) as server:
        given = reach(tmp_path, http, BARNACLE_IMESSAGE_PASSWORD=PASSWORD)
        said = await platform("imessage").identify(wanted(server.url), given)
        with pytest.raises(ChannelRefused, match="password to the one in the Blue") as caught:
            await platform("imessage").identify(
                wanted(server.url, secret("another")), reach(tmp_path, http)
            )
        with pytest.raises(ChannelRefused, match=r"look at channels\.imessage\.base_url"):
            await platform("imessage").identify(wanted(f"{server.url}/elsewhere", PASSWORD), given)
        await http.aclose()
    assert said == (
        "BlueBubbles 1.9.9 on macOS 15.5 writes for the account barnacle@example.org, "
        "by private-api"
    )
    assert not is_in(str(caught.value))


async def test_neither_a_mac_that_is_away_nor_one_that_breaks_off_tells_the_password(
    tmp_path: Path,
) -> None:
    async def cut(_reader: object, writer: object) -> None:
        writer.close()  # type: ignore[attr-defined]  # a stream's

    http = HttpClient()
    async with serving(cut) as url:
        for address in (url, "http://127.0.0.1:1"):
            with pytest.raises(ChannelUnavailable) as caught:
                await platform("imessage").identify(
                    wanted(address, PASSWORD), reach(tmp_path, http)
                )
            assert not is_in(f"{caught.value!r} {caught.value.__cause__!r}")
    await http.aclose()


def test_the_password_is_told_to_whoever_keeps_it_out_of_texts() -> None:
    [told] = platform("imessage").secrets(wanted("http://x", PASSWORD), {})
    assert told.reveal() == PASSWORD
