import contextlib
from collections.abc import AsyncIterator

import pytest

from agent.channels.signal import linking
from agent.channels.signal.client import SignalClient
from agent.channels.signal.linking import LinkRanOut, checked, link_by_daemon
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.net.http import HttpClient
from tests.fakes.signal_daemon import LINK_URI, NUMBER, SignalDaemon, running
from tests.fakes.signal_faults import Fails, Hangs

URI = "sgnl://linkdevice?uuid=Q2hlY2tlZA%3D%3D&pub_key=BQabcdefgh"


@contextlib.asynccontextmanager
async def client_of(daemon: SignalDaemon) -> AsyncIterator[SignalClient]:
    http = HttpClient()
    async with running(daemon) as there:
        try:
            yield SignalClient(there.url, "", http)
        finally:
            await http.aclose()


async def test_a_daemon_links_an_account_and_has_it_at_once() -> None:
    shown: list[str] = []
    daemon = SignalDaemon(accounts=[])
    async with client_of(daemon) as client:
        assert await link_by_daemon(client, "Barnacle", shown.append) == NUMBER
        (finished,) = daemon.called("finishLink")
        assert daemon.accounts == [{"number": NUMBER}]
    assert shown == [finished["deviceLinkUri"]]
    assert finished["deviceName"] == "Barnacle"


async def test_a_daemon_of_one_account_links_no_other() -> None:
    async with client_of(SignalDaemon(is_single=True)) as client:
        with pytest.raises(ChannelRefused, match="start it without -a"):
            await link_by_daemon(client, "Barnacle", lambda _: None)


@pytest.mark.parametrize(
    "fault",
    [
        Fails(-1, "Link request timed out, please try again."),
        Fails(-3, "Link request error: Connection closed!"),
    ],
)
async def test_a_code_that_nobody_scans_is_said(fault: Fails) -> None:
    daemon = SignalDaemon()
    daemon.fail("finishLink", fault)
    async with client_of(daemon) as client:
        with pytest.raises(LinkRanOut, match="not scanned in time"):
            await link_by_daemon(client, "Barnacle", lambda _: None)


async def test_a_code_that_nobody_scans_for_too_long_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(linking, "SCAN_TIMEOUT_S", 0.1)
    daemon = SignalDaemon()
    daemon.fail("finishLink", Hangs())
    async with client_of(daemon) as client:
        with pytest.raises(LinkRanOut):
            await link_by_daemon(client, "Barnacle", lambda _: None)


async def test_without_signals_servers_no_code_has_run_out() -> None:
    daemon = SignalDaemon()
    daemon.fail("startLink", Fails(-3, "Link request error: Connection closed!"))
    async with client_of(daemon) as client:
        with pytest.raises(ChannelUnavailable, match="Connection closed") as failed:
            await link_by_daemon(client, "Barnacle", lambda _: None)
    assert not isinstance(failed.value, LinkRanOut)


async def test_the_code_is_in_no_error() -> None:
    daemon = SignalDaemon()
    daemon.fail("finishLink", Fails(-1, f"Invalid device link uri: {LINK_URI}"))
    async with client_of(daemon) as client:
        with pytest.raises(MessageRefused, match="Invalid device link uri") as failed:
            await link_by_daemon(client, "Barnacle", lambda _: None)
    error: BaseException | None = failed.value
    while error is not None:
        assert "pub_key" not in str(error)
        error = error.__cause__


@pytest.mark.parametrize(
    "uri",
    [None, 7, "", "https://evil.example/", "sgnl://linkdevice?", f"{URI}\n", f"{URI}\x1b[2J"],
)
def test_nothing_else_is_put_on_the_screen(uri: object) -> None:
    with pytest.raises(ChannelRefused):
        checked(uri)
