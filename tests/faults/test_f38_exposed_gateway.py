"""F38: a gateway that others may reach: nobody gets in by how, from where or how often they ask."""

import ipaddress
import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from agent.errors import ConfigRefused
from agent.gateway.address import gateway_address
from agent.gateway.callers import normal
from agent.gateway.refused_callers import MAX_CALLERS, MAX_REFUSED, WINDOW_S, RefusalLimiter
from agent.gateway.settings import GatewaySettings
from agent.settings import Settings
from tests.fakes.chat_process import chat_environ
from tests.fakes.clock import SteppedClock
from tests.fakes.gateway import TOKEN, bearer, listening

Headers = list[tuple[str, str]]

WRONG = TOKEN[::-1]
# How somebody may say who they are; of these one is right
AUTHS: dict[str, tuple[str, Headers]] = {
    "right": ("/metrics", bearer(TOKEN)),
    "none": ("/metrics", []),
    "wrong": ("/metrics", bearer(WRONG)),
    "empty": ("/metrics", bearer("")),
    "basic": ("/metrics", [("authorization", f"Basic {TOKEN}")]),
    "url": (f"/metrics?token={TOKEN}", bearer(TOKEN)),
    "cookie": ("/metrics", [("cookie", f"token={TOKEN}")]),
    "twice": ("/metrics", [*bearer(WRONG), *bearer(TOKEN)]),
    "proxied": ("/metrics", [*bearer(TOKEN), ("x-forwarded-for", "127.0.0.1")]),
}
HOSTS = ("127.0.0.1", "localhost:8475", "evil.example", "127.0.0.1.evil.example", "", None)
GOOD_HOSTS = HOSTS[:2]
ORIGINS = (None, "null", "https://evil.example", "http://127.0.0.1")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")


async def test_of_all_ways_to_ask_one_is_answered(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with listening(tmp_path, clock=clock, token=TOKEN) as gateway:
        for auth, host, origin, method in itertools.product(AUTHS, HOSTS, ORIGINS, METHODS):
            # Or the limit would hide what a single request comes to
            clock.advance(WINDOW_S)
            target, headers = AUTHS[auth]
            told = [*headers, *([("origin", origin)] if origin is not None else [])]
            status = (await gateway.ask(method, target, told, host=host)).status
            is_right = auth == "right" and host in GOOD_HOSTS and origin is None
            expected = is_right and method == "GET"
            assert (status == 200) is expected, (auth, host, origin, method, status)
            assert expected or 400 <= status < 500


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:8475", "127.8.9.1:8475", "unix", "/r/s"])
def test_on_this_machine_alone_it_listens_without_a_token(listen: str, tmp_path: Path) -> None:
    gateway_address(GatewaySettings(listen=listen), tmp_path, "")


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "192.168.1.20", "[::]", "[2001:db8::1]", "[::ffff:192.168.1.20]"]
)
@pytest.mark.parametrize("listed", ["listed", "not listed"])
@pytest.mark.parametrize("token", ["", "hunter2", "a" * 64, TOKEN[:62], TOKEN])
def test_where_others_reach_it_a_list_and_a_token_are_needed(
    address: str, listed: str, token: str, tmp_path: Path
) -> None:
    plain = str(ipaddress.ip_address(address.strip("[]")))
    is_listed = listed == "listed"
    public = (plain,) if is_listed else ()
    wanted = GatewaySettings(listen=f"{address}:8475", public=public, hosts=("barnacle.lan",))
    if is_listed and token == TOKEN:
        assert "barnacle.lan" in gateway_address(wanted, tmp_path, token).hosts
        return
    with pytest.raises(ConfigRefused, match=r"gateway\.(listen|token)"):
        gateway_address(wanted, tmp_path, token)


def test_every_address_at_once_needs_the_names_it_is_called_by(tmp_path: Path) -> None:
    wanted = GatewaySettings(listen="0.0.0.0:8475", public=("0.0.0.0",))
    with pytest.raises(ConfigRefused, match=r"gateway\.hosts"):
        gateway_address(wanted, tmp_path, TOKEN)


def test_a_proxy_before_it_needs_a_token(tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match="trusted_proxies makes the gateway reachable"):
        gateway_address(GatewaySettings(trusted_proxies=("127.0.0.1",)), tmp_path, "")


@pytest.mark.parametrize("listen", ["evil.example:80", "127.0.0.1", "127.0.0.1:99999", "1.2:80"])
def test_nonsense_is_refused(listen: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigRefused, match="expected an address and a port"):
        gateway_address(GatewaySettings(listen=listen), tmp_path, TOKEN)


def test_the_agent_does_not_start_open_to_others_without_a_token(tmp_path: Path) -> None:
    config = '[gateway]\nlisten = "0.0.0.0:0"\npublic = ["0.0.0.0"]\nhosts = ["a.lan"]\n'
    started = subprocess.run(
        [sys.executable, "-m", "agent.cli.main", "run"],
        env=chat_environ(tmp_path, config),
        capture_output=True,
        text=True,
        timeout=15,
        check=False,
    )
    assert started.returncode != 0
    assert "there is no token: set gateway.token_file" in started.stderr
    assert "Traceback" not in started.stderr


def test_it_is_off_by_default() -> None:
    assert Settings().gateway is None


async def test_a_thousand_tries_are_ten_however_the_address_is_written(tmp_path: Path) -> None:
    wanted = GatewaySettings(listen="127.0.0.1:0", trusted_proxies=("127.0.0.1",))
    spellings = ("203.0.113.9", "::ffff:203.0.113.9", "::ffff:cb00:7109", "[::FFFF:203.0.113.9]")
    bogus: tuple[Headers, ...] = (
        [],
        [("cookie", "session=1")],
        [("x-api-key", WRONG)],
        [("proxy-authorization", f"Bearer {WRONG}")],
    )
    clock = SteppedClock()
    async with listening(tmp_path, wanted, clock=clock, token=TOKEN) as gateway:
        statuses = []
        for number in range(1000):
            hop = ("x-forwarded-for", spellings[number % 4])
            guess = bearer(f"{number:064x}")
            headers = [hop, *guess, *bogus[number // 4 % 4]]
            statuses.append((await gateway.ask("GET", "/health", headers)).status)
        assert statuses == [401] * MAX_REFUSED + [429] * (1000 - MAX_REFUSED)
        right = [("x-forwarded-for", spellings[1]), *bearer(TOKEN)]
        # Who has the token gets in, whatever others behind the same address have guessed
        assert (await gateway.ask("GET", "/health", right)).status == 200
        none = [("x-forwarded-for", spellings[1])]
        assert (await gateway.ask("GET", "/health", none)).status == 429
        other = [("x-forwarded-for", "203.0.113.10"), *bearer(TOKEN)]
        assert (await gateway.ask("GET", "/health", other)).status == 200
        clock.advance(WINDOW_S + 1)
        assert (await gateway.ask("GET", "/health", none)).status == 401


def test_an_address_has_one_name() -> None:
    assert {normal(one) for one in ("127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1")} == {
        "127.0.0.1"
    }
    assert normal("2001:db8::1") == normal("2001:db8::ffff:1%eth0") == "2001:db8::/64"
    assert normal("nonsense") == normal("") == "unknown"


async def test_the_table_of_callers_is_bounded_and_newcomers_are_limited_too(
    tmp_path: Path,
) -> None:
    limiter = RefusalLimiter(tmp_path / "gateway.db", SteppedClock())
    await limiter.begin()
    for number in range(3 * MAX_CALLERS):
        limiter.note(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(limiter) <= MAX_CALLERS + 1
    assert limiter.wait_s("192.0.2.1") > 0
    await limiter.aclose()


async def test_a_websocket_of_a_foreign_page_is_refused(tmp_path: Path) -> None:
    wish = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    async with listening(tmp_path) as gateway:
        for origin in ("https://evil.example", "http://127.0.0.1", "null"):
            for path in ("/health", "/metrics", "/webhook", "/ws", "/"):
                answer = await gateway.ask("GET", path, [*wish, ("origin", origin)])
                assert answer.status in {403, 404, 405}
        assert (await gateway.ask("GET", "/health", wish)).status == 403


async def test_nothing_writes_the_configuration(tmp_path: Path) -> None:
    paths = ("/config", "/config.apply", "/api/config", "/settings", "/reload", "/pair/../config")
    async with listening(tmp_path, token=TOKEN) as gateway:
        for path, method in itertools.product(paths, ("GET", "POST", "PUT", "PATCH", "DELETE")):
            assert (await gateway.ask(method, path, bearer(TOKEN), b"{}")).status == 404
