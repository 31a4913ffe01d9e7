"""A login by password, on a real homeserver."""

import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from agent.channels.catalog import platform
from agent.channels.matrix.client import MatrixApi
from agent.channels.matrix.login import MatrixLogin
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, MatrixSettings
from agent.config import Secret
from agent.errors import ChannelRefused, ConfigRefused
from agent.net.http import HttpClient
from agent.settings import Paths
from agent.system.clock import SystemClock
from tests.fakes import synapse
from tests.fakes.synapse import MatrixUser


class LapsingServer(httpx.AsyncHTTPTransport):
    """A way to the server that knows a token no more when asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.lapses = {"soft": False, "hard": False}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        lapse = next((kind for kind, is_so in self.lapses.items() if is_so), "")
        if lapse and not request.url.path.endswith("/login"):
            self.lapses[lapse] = False
            told = {"errcode": "M_UNKNOWN_TOKEN", "soft_logout": lapse == "soft"}
            return httpx.Response(401, stream=httpx.ByteStream(json.dumps(told).encode()))
        return await super().handle_async_request(request)


class Account:
    """An account of a server, and the way to it."""

    def __init__(self, folder: Path) -> None:
        self.server = synapse.shared()
        self.user: MatrixUser = self.server.account("barnacle")
        self.transport = LapsingServer()
        self.http = HttpClient(self.transport)
        self.path = folder / "login.json"

    def login(self, password: str = "password") -> MatrixLogin:
        return MatrixLogin(self.user.server, self.user.id, Secret(password), self.path, self.http)

    def api(self, login: MatrixLogin) -> MatrixApi:
        return MatrixApi(self.user.server, login, self.http)

    def devices(self) -> set[str]:
        return {one["device_id"] for one in self.user.call("GET", "/devices")["devices"]}


@pytest.fixture
async def account(tmp_path: Path) -> AsyncIterator[Account]:
    made = Account(tmp_path)
    yield made
    await made.http.aclose()


async def test_the_same_device_comes_back_after_a_restart(account: Account) -> None:
    first, second = account.api(account.login()), account.api(account.login())
    assert await first.whoami() == await second.whoami() == account.user.id
    assert first.device == second.device != account.user.device
    assert account.devices() == {account.user.device, first.device}


async def test_only_the_agent_may_read_where_it_is_kept(account: Account) -> None:
    await account.login().token()
    assert stat.S_IMODE(account.path.stat().st_mode) == 0o600
    assert "password" not in account.path.read_text()


async def test_a_login_that_lapsed_is_renewed_as_the_same_device(account: Account) -> None:
    login = account.login()
    api = account.api(login)
    await api.whoami()
    device, token = api.device, await login.token()
    account.transport.lapses["soft"] = True
    await api.whoami()
    assert api.device == device
    assert await login.token() != token
    assert await account.login().token() == await login.token()


async def test_a_login_that_somebody_ended_is_not_begun_again(account: Account) -> None:
    api = account.api(account.login())
    await api.whoami()
    account.transport.lapses["hard"] = True
    with pytest.raises(ChannelRefused, match=r"remove .*login\.json"):
        await api.whoami()


async def test_a_wrong_password_is_refused_and_not_repeated(account: Account) -> None:
    with pytest.raises(ChannelRefused, match="Matrix login refused") as caught:
        await account.login("hunter2").token()
    assert "hunter2" not in str(caught.value)


async def test_another_accounts_login_is_none(account: Account) -> None:
    first = await account.login().token()
    account.user = account.server.account("barnacle")
    assert await account.login().token() != first


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"token": 1}', b"\xff" * 9])
async def test_a_damaged_file_is_a_new_login(account: Account, content: bytes) -> None:
    account.path.write_bytes(content)
    assert await account.login().token()


async def test_whoever_asks_who_it_is_leaves_no_device_behind(
    account: Account, tmp_path: Path
) -> None:
    wanted = MatrixSettings(
        base_url=account.user.server, user=account.user.id, password=Secret("password")
    )
    reach = PlatformContext(Paths(None, tmp_path), {}, account.http, SystemClock())
    said = await platform("matrix").identify(ChannelsSettings(matrix=wanted), reach)
    assert said.startswith(account.user.id)
    assert account.devices() == {account.user.device}
    assert not (tmp_path / "matrix" / "login.json").exists()


def test_a_user_without_a_password_is_told_where_it_goes(tmp_path: Path) -> None:
    wanted = ChannelsSettings(matrix=MatrixSettings(user="barnacle"))
    with pytest.raises(ConfigRefused, match="password_file"):
        platform("matrix").open(
            wanted, PlatformContext(Paths(None, tmp_path), {}, HttpClient(), SystemClock())
        )
