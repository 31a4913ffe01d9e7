"""The gateway as a person who configured it uses it."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.access.pairing_codes import Invitation
from agent.errors import ConfigRefused
from agent.gateway.refused_callers import MAX_REFUSED
from agent.gateway.settings import GatewaySettings
from tests.fakes.gateway import LOOPBACK, TOKEN, bearer, listening
from tests.waits import wait_until


def everything_in(folder: Path) -> str:
    return "".join(one.read_text("latin-1") for one in folder.iterdir() if one.is_file())


async def test_health_is_what_is_told_of_the_channels(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        well = await gateway.ask("GET", "/health")
        assert (well.status, json.loads(well.body)["status"]) == (200, "ok")
        gateway.troubles["telegram"] = "nothing was heard for 90 s"
        ill = await gateway.ask("GET", "/health")
        assert ill.status == 503
        assert json.loads(ill.body)["troubles"] == {"telegram": "nothing was heard for 90 s"}


async def test_metrics_are_prometheus_text(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        page = await gateway.ask("GET", "/metrics")
        assert page.status == 200
        assert page.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert page.said.splitlines() == [
            "# HELP barnacle_messages Messages.",
            "# TYPE barnacle_messages gauge",
            'barnacle_messages{channel="a\\"b"} 3',
            "# HELP barnacle_stopped Stop.",
            "# TYPE barnacle_stopped gauge",
            "barnacle_stopped 0",
        ]


async def test_a_configured_token_is_needed_to_look(tmp_path: Path) -> None:
    async with listening(tmp_path, token=TOKEN) as gateway:
        assert (await gateway.ask("GET", "/metrics")).status == 401
        assert (await gateway.ask("GET", "/metrics", bearer(TOKEN[:-1] + "3"))).status == 401
        assert (await gateway.ask("GET", "/metrics", bearer(TOKEN))).status == 200


async def test_a_code_gives_a_token_once_that_is_kept_as_a_hash_and_can_be_revoked(
    tmp_path: Path,
) -> None:
    async with listening(tmp_path, token=TOKEN) as gateway:
        code = gateway.codes.make(Invitation(role="guest", name="prometheus"))
        body = json.dumps({"code": code}).encode()
        given = await gateway.ask("POST", "/pair", body=body)
        token = json.loads(given.body)["token"]
        assert (await gateway.ask("GET", "/metrics", bearer(token))).status == 200
        assert (await gateway.ask("POST", "/pair", body=body)).status == 403
        assert token not in everything_in(tmp_path)
        gateway.people.revoke(gateway.people.named("prometheus"))
        assert (await gateway.ask("GET", "/metrics", bearer(token))).status == 401


async def test_a_code_for_an_owner_makes_no_token(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        body = json.dumps({"code": gateway.codes.make(Invitation(role="owner"))}).encode()
        assert (await gateway.ask("POST", "/pair", body=body)).status == 403
        assert gateway.people.owner() is None


async def test_a_unix_socket_is_for_its_group_alone_and_gone_afterwards(tmp_path: Path) -> None:
    async with listening(tmp_path, GatewaySettings(listen="unix")) as gateway:
        path = gateway.gateway.place.path
        assert path == tmp_path / "gateway.sock"
        assert path.stat().st_mode & 0o777 == 0o660
        assert (await gateway.ask("GET", "/health", host="localhost")).status == 200
    assert not path.exists()


def kept_refusals(folder: Path) -> int:
    """Return how many rows are written: of each refusal one of its caller, one of its guess."""
    with closing(sqlite3.connect(folder / "gateway.db")) as db:
        return int(db.execute("SELECT count(*) FROM refused").fetchone()[0])


async def test_refusals_are_remembered_over_a_restart(tmp_path: Path) -> None:
    async with listening(tmp_path, token=TOKEN) as gateway:
        for number in range(MAX_REFUSED):
            wrong = bearer(f"wrong {number}")
            assert (await gateway.ask("GET", "/health", wrong)).status == 401
        await wait_until(lambda: kept_refusals(tmp_path) == 2 * MAX_REFUSED)
    async with listening(tmp_path, token=TOKEN) as gateway:
        refused = await gateway.ask("GET", "/health", bearer("another"))
        assert refused.status == 429
        assert 0 < int(refused.headers["retry-after"]) <= 300
        # What others of an address have guessed keeps nobody out
        assert (await gateway.ask("GET", "/health", bearer(TOKEN))).status == 200


async def test_a_program_with_an_old_token_keeps_out_nobody_of_its_address(tmp_path: Path) -> None:
    async with listening(tmp_path, token=TOKEN) as gateway:
        old = [(await gateway.ask("GET", "/health", bearer("old"))).status for _ in range(40)]
        assert old == [401] * MAX_REFUSED + [429] * (40 - MAX_REFUSED)
        assert (await gateway.ask("GET", "/health")).status == 401


async def test_who_guesses_codes_is_told_how_long_to_wait(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        body = json.dumps({"code": "00000-00000"}).encode()
        statuses = [(await gateway.ask("POST", "/pair", body=body)).status for _ in range(5)]
        assert statuses == [403, 403, 403, 429, 429]
        refused = await gateway.ask("POST", "/pair", body=body)
        assert 0 < int(refused.headers["retry-after"]) <= 60


async def test_a_proxy_that_is_named_says_who_comes(tmp_path: Path) -> None:
    wanted = GatewaySettings(listen="127.0.0.1:0", trusted_proxies=("127.0.0.1",), hosts=("a.org",))
    async with listening(tmp_path, wanted, token=TOKEN) as gateway:
        for number in range(MAX_REFUSED + 1):
            # Whatever the caller itself writes there stands further left
            hops = [("x-forwarded-for", f"10.0.0.{number}, 203.0.113.9")]
            last = await gateway.ask("GET", "/health", [*hops, *bearer("wrong")], host="a.org")
        assert last.status == 429
        other = [("x-forwarded-for", "203.0.113.10"), *bearer(TOKEN)]
        assert (await gateway.ask("GET", "/health", other, host="a.org")).status == 200


async def test_a_port_that_is_taken_is_said_in_a_sentence(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        taken = GatewaySettings(listen=f"127.0.0.1:{gateway.port}")
        with pytest.raises(ConfigRefused, match="cannot listen at 127"):
            async with listening(tmp_path, taken):
                raise AssertionError
    assert LOOPBACK.listen == "127.0.0.1:0"
