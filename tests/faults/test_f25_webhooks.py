"""F25: webhooks that are forged, repeated, replayed, huge or slow.

Each attacker meets a gateway of its own; what all of them cost is measured at an agent at work.
"""

import asyncio
import base64
import json
import time
from pathlib import Path

import pytest

from agent.app.channels import open_channels
from agent.channels.platform import PlatformContext
from agent.channels.settings import ChannelsSettings, WebhookSettings
from agent.channels.webhook.messages import REPLAY_WINDOW_S, signed
from agent.config import Secret
from agent.errors import ConfigRefused
from agent.gateway.connection_pool import MAX_PLACES, QUICK_PLACES
from agent.gateway.request import BODY_TIMEOUT_S, MAX_BODY_BYTES
from agent.gateway.server import HEADERS_TIMEOUT_S
from agent.gateway.settings import GatewaySettings
from agent.net.http import HttpClient
from agent.settings import Paths, Settings
from agent.system.clock import SystemClock
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.drip import drip as drip_bytes
from tests.fakes.gateway import KEY, SECRET, Listening, answer_of, letter, listening
from tests.waits import wait_until

MOST_GROWTH_KB = 5 * 1024
# More than there are places of any kind
CROWD = MAX_PLACES + QUICK_PLACES + 12
HEAD = b"POST /webhook HTTP/1.1\r\nhost: 127.0.0.1\r\n"


def headers_for(body: bytes, message_id: str = "m1", ago_s: float = 0) -> dict[str, str]:
    return signed(KEY, message_id, time.time() - ago_s, body)


def raw(headers: dict[str, str]) -> bytes:
    return HEAD + "".join(f"{name}: {text}\r\n" for name, text in headers.items()).encode()


async def test_a_message_as_it_should_be_is_heard(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        assert (await gateway.say("hello", "m1")).status == 200
        assert [one.text for one in gateway.heard] == ["hello"]


@pytest.mark.parametrize("missing", ["webhook-id", "webhook-timestamp", "webhook-signature"])
async def test_without_a_header_of_the_signature_no_body_is_read(
    missing: str, tmp_path: Path
) -> None:
    async with listening(tmp_path) as gateway:
        headers = {**headers_for(b""), "content-length": "1000"}
        del headers[missing]
        # The body never comes: who waits for it does not answer at once
        begun_s = time.monotonic()
        answer = await gateway.send(raw(headers) + b"\r\n")
        assert answer.status == 401
        assert time.monotonic() - begun_s < BODY_TIMEOUT_S / 2
        assert gateway.heard == []


@pytest.mark.parametrize(
    "signature", ["", "v1,", "v1,AAAA", "v2,AAAA", "v1," + "A" * 5000, "v1,%00", "v1,ä"]
)
async def test_what_is_no_signature_is_refused(signature: str, tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        body = letter("hello")
        answer = await gateway.post(body, {**headers_for(body), "webhook-signature": signature})
        assert answer.status == 401
        assert gateway.heard == []


async def test_another_key_another_body_another_id_and_another_time_are_refused(
    tmp_path: Path,
) -> None:
    body, right = letter("hello"), headers_for(letter("hello"))
    async with listening(tmp_path) as gateway:
        forged = (
            (body, signed(bytes(32), "m1", time.time(), body)),
            (letter("open the door"), right),
            (body, {**right, "webhook-id": "m2"}),
            (body, {**right, "webhook-timestamp": str(int(time.time()) - 3)}),
        )
        for told, headers in forged:
            assert (await gateway.post(told, headers)).status == 401
        assert gateway.heard == []


@pytest.mark.parametrize("ago_s", [REPLAY_WINDOW_S + 5, -REPLAY_WINDOW_S - 5])
async def test_what_was_signed_too_long_ago_or_ahead_is_refused(ago_s: int, tmp_path: Path) -> None:
    body = letter("hello")
    async with listening(tmp_path) as gateway:
        assert (await gateway.post(body, headers_for(body, ago_s=ago_s))).status == 401
        assert gateway.heard == []


async def test_a_replay_is_known_however_its_signature_is_written(tmp_path: Path) -> None:
    # A body whose signature has signs in which the two alphabets differ
    for number in range(1000):
        body = letter(f"hello {number}")
        headers = headers_for(body)
        told = headers["webhook-signature"]
        if "+" in told and "/" in told:
            break
    spellings = {
        told,
        told.translate(str.maketrans("+/", "-_")),
        told.rstrip("="),
        f"{told} {told}",
    }
    assert len(spellings) == 4
    async with listening(tmp_path) as gateway:
        for spelling in spellings:
            answer = await gateway.post(body, {**headers, "webhook-signature": spelling})
            assert answer.status == 200
        assert len(gateway.heard) == 1


async def test_a_message_that_comes_again_is_worked_on_once_over_a_restart(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        answers = await asyncio.gather(*(gateway.say("hello", "m1") for _ in range(10)))
        assert {one.status for one in answers} == {200}
        assert len(gateway.heard) == 1
    async with listening(tmp_path) as gateway:
        assert (await gateway.say("hello", "m1")).status == 200
        assert gateway.heard == []


async def test_what_failed_before_it_was_kept_is_no_result(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        gateway.is_full = True
        refused = await gateway.say("hello", "m1")
        assert (refused.status, refused.headers["retry-after"]) == (503, "2")
        gateway.is_full = False
        assert (await gateway.say("hello", "m1")).status == 200
        assert [one.text for one in gateway.heard] == ["hello"]


@pytest.mark.parametrize(
    ("length", "status"),
    [(f"{MAX_BODY_BYTES + 1}", 413), ("1000000000", 413), ("-1", 400), ("1e3", 400)],
)
async def test_a_size_that_is_too_large_or_none_is_refused_by_its_header(
    length: str, status: int, tmp_path: Path
) -> None:
    async with listening(tmp_path) as gateway:
        told = raw({**headers_for(b""), "content-length": length})
        assert (await gateway.send(told + b"\r\n")).status == status


async def test_two_ways_to_tell_the_size_are_refused(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        told = {**headers_for(b""), "content-length": "4", "transfer-encoding": "chunked"}
        assert (await gateway.send(raw(told) + b"\r\n0\r\n\r\n")).status == 400


async def chunked_gigabyte(port: int) -> int:
    """Pour until the other side has had enough; how many bytes that took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    chunk = b"10000\r\n" + b"a" * 65536 + b"\r\n"
    poured = 0
    try:
        writer.write(raw({**headers_for(b""), "transfer-encoding": "chunked"}) + b"\r\n")
        while poured < 1_000_000_000:
            writer.write(chunk)
            await writer.drain()
            poured += 65536
    except ConnectionError:
        pass
    finally:
        writer.close()
    del reader
    return poured


async def test_a_chunked_gigabyte_is_cut_off_after_a_megabyte(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        # What lies in the buffers of the kernel comes to it
        assert await chunked_gigabyte(gateway.port) < 32 * MAX_BODY_BYTES
        assert (await gateway.say("hello", "m1")).status == 200


async def test_a_body_that_drips_is_cut_off(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        begun_s = time.monotonic()
        answer = await gateway.send(raw({**headers_for(b""), "content-length": "9"}) + b"\r\nabc")
        assert answer.status == 408
        assert BODY_TIMEOUT_S - 0.5 < time.monotonic() - begun_s < 2 * BODY_TIMEOUT_S


async def drip(gateway: Listening) -> float:
    """Send a header byte by byte; how long that was borne."""
    reader, writer = await gateway.connect()
    begun_s = time.monotonic()
    try:
        gives_up_s = begun_s + 3 * HEADERS_TIMEOUT_S
        await drip_bytes(
            writer, b"a", 0.2, lambda: reader.at_eof() or time.monotonic() > gives_up_s
        )
    except ConnectionError:
        pass
    finally:
        writer.close()
    return time.monotonic() - begun_s


async def test_slow_headers_keep_nobody_out_and_end(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        slow = [asyncio.ensure_future(drip(gateway)) for _ in range(CROWD)]
        await wait_until(lambda: len(list(gateway.gateway.places)) >= MAX_PLACES)
        begun_s = time.monotonic()
        assert (await gateway.say("hello", "m1")).status == 200
        assert time.monotonic() - begun_s < HEADERS_TIMEOUT_S / 2
        assert max(await asyncio.gather(*slow)) < 2 * HEADERS_TIMEOUT_S


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"\xff\xfe",
        b"[" * 500_000,
        json.dumps({"sender": "a b", "text": "x"}).encode(),
        json.dumps({"sender": "a", "text": "x" * 70_000}).encode(),
        json.dumps({"sender": "a", "text": "x", "role": "owner"}).encode(),
        json.dumps({"sender": "a", "text": "x", "approved": True}).encode(),
    ],
)
async def test_a_signed_body_that_is_no_message_is_refused(body: bytes, tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        assert (await gateway.post(body, headers_for(body))).status == 400
        assert gateway.heard == []


async def test_too_many_messages_are_told_when_to_come_again(tmp_path: Path) -> None:
    async with listening(tmp_path) as gateway:
        statuses = [(await gateway.say("hello", f"m{number}")).status for number in range(121)]
        assert statuses == [200] * 120 + [429]
    # Nor does a restart open the window
    async with listening(tmp_path) as gateway:
        refused = await gateway.say("hello", "later")
        assert refused.status == 429
        assert 0 < int(refused.headers["retry-after"]) <= 60
        # What stops the agent is heard all the same
        assert (await gateway.say("/estop", "stop")).status == 200
        assert [one.text for one in gateway.heard] == ["/estop"]


@pytest.mark.parametrize(
    ("webhook", "why"),
    [
        (WebhookSettings(reply_url="http://127.0.0.1:9/"), "has no secret"),
        (WebhookSettings(reply_url="http://127.0.0.1:9/", secret=Secret("hunter2")), "whsec_"),
        (WebhookSettings(secret=Secret(SECRET)), "has no reply_url"),
        (
            WebhookSettings(
                reply_url="http://127.0.0.1:9/",
                secret=Secret(f"whsec_{base64.b64encode(b'short').decode()}"),
            ),
            "24 random bytes",
        ),
    ],
)
def test_without_a_secret_it_does_not_start(
    webhook: WebhookSettings, why: str, tmp_path: Path
) -> None:
    settings = Settings(gateway=GatewaySettings(), channels=ChannelsSettings(webhook=webhook))
    reach = PlatformContext(Paths(None, tmp_path), {}, HttpClient(), SystemClock())
    with pytest.raises(ConfigRefused, match=why):
        open_channels(settings, reach)


class Target(Listening):
    """The gateway of another process, by its port."""

    def __init__(self, port: int) -> None:
        self._port = port

    @property
    def port(self) -> int:
        return self._port

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port)


def peak_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


async def ten_thousand_keys(target: Target) -> set[int]:
    """Each in a query of its own."""
    statuses = set()

    async def some(first: int) -> None:
        for number in range(first, first + 500):
            key = f"{number:x}{'k' * 20}"
            statuses.add((await target.ask("POST", f"/webhook?{key}={number}")).status)

    await asyncio.gather(*(some(first) for first in range(0, 10_000, 500)))
    return statuses


async def test_all_of_it_costs_an_agent_at_work_less_than_5_mb(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    config = (
        f'[gateway]\nlisten = "127.0.0.1:{unused_tcp_port}"\n'
        f'[channels.webhook]\nreply_url = "http://127.0.0.1:9/"\nsecret = "{SECRET}"\n'
    )
    (tmp_path / "barnacle.toml").touch(0o600)
    target = Target(unused_tcp_port)
    with DaemonProcess(tmp_path, config) as daemon:
        await until_answered(target)
        # What every agent loads with its first strangers, and the buffers of ordinary requests
        said = [target.say("x" * 60_000, f"warm{number}") for number in range(20)]
        assert {one.status for one in await asyncio.gather(*said)} == {200}
        await asyncio.sleep(1)
        Path(f"/proc/{daemon.pid}/clear_refs").write_text("5", encoding="ascii")  # noqa: ASYNC240 - the kernel's
        before_kb = daemon.rss_kib
        assert await ten_thousand_keys(target) == {400}
        await asyncio.gather(*(chunked_gigabyte(target.port) for _ in range(3)))
        slow = [asyncio.ensure_future(drip(target)) for _ in range(CROWD)]
        await asyncio.gather(*slow)
        # Their places are free a little after they are told to leave
        await until_answered(target)
        forged = [(await target.post(b"x" * 60_000, {})).status for _ in range(30)]
        # An answer before the whole body is read may be lost with the connection: status 0
        assert {status for status in forged[:10] if status} == {401}
        assert {status for status in forged[10:] if status} == {429}
        assert peak_kb(daemon.pid) - before_kb < MOST_GROWTH_KB
        assert "Traceback" not in daemon.log()


async def until_answered(target: Target) -> None:
    async def is_answered() -> bool:
        try:
            reader, writer = await target.connect()
        except ConnectionError:
            return False
        writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        answer = await answer_of(reader)
        writer.close()
        return answer.status == 200

    await wait_until(is_answered, look_s=0.05)
