"""Hosts of the house are reached whatever becomes of the names of others."""

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

from agent.net.connecting import HostLookups
from agent.net.http import HttpClient
from agent.net.request import MAX_CONNECTIONS
from tests.fakes.raw_server import serving
from tests.net.test_http_call import Slow, body
from tests.waits import PATIENCE_S


def test_hosts_of_the_house_are_reached_while_names_are_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each lookup without an answer took one of the loop's few threads for a minute."""
    is_over, looked_up = threading.Event(), socket.getaddrinfo

    def silent(host: str, *arguments: object, **named: object) -> object:
        if host.endswith(".example"):
            is_over.wait(PATIENCE_S)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return looked_up(host, *arguments, **named)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(socket, "getaddrinfo", silent)

    async def look() -> None:
        http = HttpClient()
        names = [f"http://{number}.example/" for number in range(MAX_CONNECTIONS - 1)]
        lost = [asyncio.create_task(body(http, url)) for url in names]
        async with serving(Slow().serve) as url:
            for host in ("127.0.0.1", "localhost"):
                async with asyncio.timeout(3):
                    assert await body(http, f"{url.replace('127.0.0.1', host)}/fresh") == b"here"
        is_over.set()
        told = await asyncio.gather(*lost, return_exceptions=True)
        assert {str(one).partition(" ")[2] for one in told} == {
            "was not found: is there a network, and is the name right?"
        }
        await http.aclose()

    asyncio.run(look())


async def test_a_name_is_looked_up_by_one_thread_however_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    is_over, asked = threading.Event(), []

    def silent(host: str, *_: object, **_named: object) -> object:
        asked.append(host)
        is_over.wait(PATIENCE_S)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    lookups = HostLookups()
    given_up = [asyncio.create_task(lookups.find("a.example", 80)) for _ in range(3)]
    await asyncio.wait(given_up, timeout=0.01)
    for one in given_up:
        one.cancel()
    await asyncio.wait(given_up)
    last = asyncio.create_task(lookups.find("a.example", 80))
    await asyncio.wait([last], timeout=0.01)
    is_over.set()
    with pytest.raises(socket.gaierror):
        await last
    assert asked == ["a.example"]


def test_in_the_loop_that_people_run_an_address_waits_for_no_name(tmp_path: Path) -> None:
    """The loop looked each address up once more, behind all names."""
    uvloop = pytest.importorskip("uvloop", reason="it has no wheel for this machine")
    never = tmp_path / "never"
    os.mkfifo(never)

    async def look() -> None:
        loop, http = asyncio.get_running_loop(), HttpClient()
        async with serving(Slow().serve) as url:
            # All of its threads for names; the C library opens this file, and waits
            names = [loop.getaddrinfo(f"nobody{one}", 80) for one in range(4)]
            lost = [asyncio.ensure_future(one) for one in names]
            await asyncio.wait(lost, timeout=0.2)
            try:
                async with asyncio.timeout(3):
                    assert await body(http, f"{url}/fresh") == b"here"
            finally:
                # Whoever waits for it finds its end, and then no file any more
                release = os.open(never, os.O_RDWR)
                never.unlink()
                os.close(release)
            await http.aclose()
        await asyncio.gather(*lost, return_exceptions=True)

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOSTALIASES", str(never))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(look())
