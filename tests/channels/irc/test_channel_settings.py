from pathlib import Path

import msgspec
import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, IrcSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.fakes import irc_server, irc_services

PASSWORD = "hunter2-of-the-tests"


def wanted(port: int, password: str = "") -> ChannelsSettings:
    url = f"irc://127.0.0.1:{port}"
    return ChannelsSettings(irc=IrcSettings(url=url, password=Secret(password)))


def reach(folder: Path, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, HttpClient(), SystemClock())


async def test_a_server_says_which_nick_we_have(tmp_path: Path) -> None:
    async with irc_server.running(tmp_path / "ngircd") as server:
        said = await platform("irc").identify(wanted(server.port), reach(tmp_path))
    assert said == f"irc://127.0.0.1:{server.port} takes barnacle with no account"


async def test_a_password_is_tried_and_told_to_whoever_keeps_it_out_of_texts(
    tmp_path: Path,
) -> None:
    given = {"BARNACLE_IRC_PASSWORD": PASSWORD}
    async with irc_services.running(tmp_path / "irc") as port:
        await (await irc_services.registered(port, "barnacle", PASSWORD)).leave()
        said = await platform("irc").identify(wanted(port), reach(tmp_path, **given))
        assert said.endswith("takes barnacle as barnacle")
        with pytest.raises(ChannelRefused, match="password_file"):
            await platform("irc").identify(wanted(port, "wrong"), reach(tmp_path))
    told = [one.reveal() for one in platform("irc").secrets(wanted(0), given)]
    assert told == [PASSWORD]


async def test_a_server_that_is_away_is_no_refusal(tmp_path: Path) -> None:
    with pytest.raises(ChannelUnavailable, match=r"cannot reach the IRC server 127\.0\.0\.1:1"):
        await platform("irc").identify(wanted(1), reach(tmp_path))


async def test_a_server_of_ones_own_is_trusted_by_its_certificate(tmp_path: Path) -> None:
    port = irc_server.free_port()
    settings = IrcSettings(url=f"ircs://127.0.0.1:{port}")
    async with irc_server.running(tmp_path, tls_port=port):
        await irc_server.reachable(port)
        with pytest.raises(ChannelUnavailable, match=r"channels\.irc\.ca_file"):
            await platform("irc").identify(ChannelsSettings(irc=settings), reach(tmp_path))
        known = msgspec.structs.replace(settings, ca_file=str(tmp_path / "certificate.pem"))
        said = await platform("irc").identify(ChannelsSettings(irc=known), reach(tmp_path))
    assert said == f"ircs://127.0.0.1:{port} takes barnacle with no account"
