from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, XmppSettings
from agent.channels.xmpp import channel as module
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.fakes import prosody
from tests.fakes.prosody import PASSWORD


def wanted(address: str, port: int, password: str = PASSWORD, **more: str) -> ChannelsSettings:
    told = {"server": f"xmpp://127.0.0.1:{port}", **more}
    return ChannelsSettings(xmpp=XmppSettings(address=address, password=Secret(password), **told))  # type: ignore[arg-type]  # of the tests


def reach(folder: Path, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, HttpClient(), SystemClock())


async def said(channels: ChannelsSettings, folder: Path) -> str:
    return await platform("xmpp").identify(channels, reach(folder))


@pytest.mark.parametrize("scheme", ["xmpp", "xmpps"])
async def test_a_server_says_who_the_agent_is(scheme: str, tmp_path: Path) -> None:
    server = prosody.shared()
    address = server.account("barnacle")
    port = server.port if scheme == "xmpp" else server.tls_port
    more = {"ca_file": str(server.certificate), "server": f"{scheme}://127.0.0.1:{port}"}
    assert (await said(wanted(address, port, **more), tmp_path)).startswith(address)


async def test_a_password_that_is_wrong_is_refused_and_not_repeated(tmp_path: Path) -> None:
    server = prosody.shared()
    channels = wanted(
        server.account("barnacle"), server.port, "hunter2", ca_file=str(server.certificate)
    )
    with pytest.raises(ChannelRefused, match="does not take the password") as caught:
        await said(channels, tmp_path)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["xmpp", "xmpps"])
async def test_a_certificate_that_nobody_vouches_for_is_refused(
    scheme: str, tmp_path: Path
) -> None:
    server = prosody.shared()
    port = server.port if scheme == "xmpp" else server.tls_port
    channels = wanted(server.account("barnacle"), port, server=f"{scheme}://127.0.0.1:{port}")
    with pytest.raises(ChannelRefused, match="ca_file"):
        await said(channels, tmp_path)


async def test_a_server_that_is_away_is_no_refusal(tmp_path: Path) -> None:
    with pytest.raises(ChannelUnavailable, match=r"127\.0\.0\.1:1 "):
        await said(wanted("barnacle@example.org", 1), tmp_path)


def test_without_an_address_it_says_where_one_goes(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match=r"channels\.xmpp has no address"):
        platform("xmpp").open(wanted("", 1), reach(tmp_path))


def test_without_a_password_it_says_where_one_goes(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match="password_file"):
        platform("xmpp").open(wanted("a@example.org", 1, ""), reach(tmp_path))


def test_without_its_library_it_says_how_to_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIBRARY", "slixmpp_that_is_not_there")
    with pytest.raises(ConfigRefused, match=r"pip install '\.\[xmpp\]'"):
        platform("xmpp").open(wanted("a@example.org", 1), reach(tmp_path))


def test_an_authority_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "ca.pem"
    bad.write_text("nothing")
    with pytest.raises(ConfigRefused, match="ca_file"):
        platform("xmpp").open(wanted("a@example.org", 1, ca_file=str(bad)), reach(tmp_path))


def test_a_password_is_told_to_whoever_keeps_it_out_of_texts() -> None:
    given = {"BARNACLE_XMPP_PASSWORD": "hunter2"}
    channels = wanted("a@example.org", 1, "")
    assert [one.reveal() for one in platform("xmpp").secrets(channels, given)] == ["hunter2"]
