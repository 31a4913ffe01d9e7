import asyncio
from pathlib import Path

import msgspec
import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, MatrixSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.contracts.listener import Listener
from tests.fakes import synapse
from tests.waits import wait_until


def wanted(port: int, token: str = "") -> ChannelsSettings:
    url = f"http://127.0.0.1:{port}"
    return ChannelsSettings(matrix=MatrixSettings(base_url=url, token=Secret(token)))


def reach(folder: Path, **environ: str) -> PlatformContext:
    return PlatformContext(Paths(None, folder), environ, HttpClient(), SystemClock())


async def test_a_server_says_whose_token_it_is(tmp_path: Path) -> None:
    server = synapse.shared()
    account = server.account("barnacle")
    surroundings = reach(tmp_path)
    said = await platform("matrix").identify(wanted(server.port, account.token), surroundings)
    await surroundings.http.aclose()
    assert said.startswith(f"{account.id} at http://127.0.0.1:{server.port}")


async def test_a_token_that_the_server_does_not_know_is_refused_and_not_repeated(
    tmp_path: Path,
) -> None:
    server = synapse.shared()
    surroundings = reach(tmp_path)
    with pytest.raises(ChannelRefused, match="does not know this token") as caught:
        await platform("matrix").identify(wanted(server.port, "syt_hunter2"), surroundings)
    await surroundings.http.aclose()
    assert "hunter2" not in str(caught.value)


async def test_a_server_that_is_away_is_no_refusal(tmp_path: Path) -> None:
    with pytest.raises(ChannelUnavailable, match=r"127\.0\.0\.1:1 "):
        await platform("matrix").identify(wanted(1, "syt_x"), reach(tmp_path))


def test_without_a_token_it_says_where_one_goes(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match="token_file"):
        platform("matrix").open(wanted(1), reach(tmp_path))


def test_its_secrets_are_told_to_whoever_keeps_them_out_of_texts() -> None:
    given = {"BARNACLE_MATRIX_TOKEN": "syt_hunter2", "BARNACLE_MATRIX_PASSWORD": "hunter3"}
    told = [one.reveal() for one in platform("matrix").secrets(wanted(1), given)]
    assert told == ["syt_hunter2", "hunter3"]


async def test_a_server_of_ones_own_is_trusted_by_its_certificate(tmp_path: Path) -> None:
    server = synapse.shared()
    account = server.account("barnacle")
    url = f"https://127.0.0.1:{server.tls_port}"
    known = MatrixSettings(base_url=url, token=Secret(account.token), ca_file=str(server.ca_file))
    surroundings = reach(tmp_path)
    said = await platform("matrix").identify(ChannelsSettings(matrix=known), surroundings)
    assert said.startswith(f"{account.id} at {url}")
    unknown = ChannelsSettings(matrix=msgspec.structs.replace(known, ca_file=""))
    with pytest.raises(ChannelUnavailable, match="cannot be trusted"):
        await platform("matrix").identify(unknown, surroundings)
    await surroundings.http.aclose()
    channel = platform("matrix").open(ChannelsSettings(matrix=known), surroundings)
    listening = asyncio.ensure_future(channel.listen(Listener().deliver))
    await wait_until((tmp_path / "matrix" / "position.json").exists)
    listening.cancel()
    await asyncio.wait([listening])
    await channel.aclose()
