from pathlib import Path

import pytest

from agent.channels.catalog import platform
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, MatrixSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ChannelUnavailable, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.fakes import synapse


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
