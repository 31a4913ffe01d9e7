"""Asked for real, at stand-ins of the services on loopback."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.channels.settings import ChannelsSettings, TelegramSettings
from agent.config import Secret
from agent.providers.settings import ProviderSettings
from agent.provision import key_proof
from agent.provision.key_proof import Proof, ProofVerdict, prove_platform, prove_provider
from agent.settings import Paths
from tests.fakes import llm_server, telegram_server
from tests.fakes.raw_server import serving

KEY = "some-" + "key"


async def prove_telegram(wanted: TelegramSettings, paths: Paths) -> Proof:
    return await prove_platform("telegram", ChannelsSettings(telegram=wanted), paths)


@asynccontextmanager
async def _answering(status: int, body: bytes) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()

    async with serving(serve) as url:
        yield url


def _at(url: str) -> ProviderSettings:
    return ProviderSettings(kind=f"custom:{url}/v1", api_key=Secret(KEY))


async def test_a_service_that_takes_the_key_lists_its_models() -> None:
    async with llm_server.running() as server:
        proof = await prove_provider(ProviderSettings(kind=f"custom:{server.base_url}"))
    assert (proof.verdict, proof.models) == (ProofVerdict.GOOD, ("fake-model",))


async def test_a_key_that_is_refused_is_no_good() -> None:
    async with _answering(401, b'{"error": {"message": "wrong key"}}') as url:
        proof = await prove_provider(_at(url))
    assert proof.verdict is ProofVerdict.REFUSED
    assert KEY not in proof.said


@pytest.mark.parametrize(("status", "body"), [(503, b"busy"), (200, b"<html>log in</html>")])
async def test_a_service_that_says_something_else_proves_nothing(status: int, body: bytes) -> None:
    async with _answering(status, body) as url:
        proof = await prove_provider(_at(url))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.said


async def test_nobody_there_proves_nothing() -> None:
    proof = await prove_provider(_at("http://127.0.0.1:9"))
    assert proof.verdict is ProofVerdict.UNKNOWN


async def test_a_silent_service_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_proof, "ASK_TIMEOUT_S", 0.2)
    never = asyncio.Event()

    async def serve(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await never.wait()

    silent: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]] = serve
    async with serving(silent) as url:
        proof = await prove_provider(_at(url))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert "no answer" in proof.said


async def test_telegram_knows_its_bots(tmp_path: Path) -> None:
    async with telegram_server.running() as server:
        known = TelegramSettings(token=Secret(server.token), base_url=server.base_url)
        other = TelegramSettings(token=Secret("1:" + "another"), base_url=server.base_url)
        paths = Paths(None, tmp_path)
        good = await prove_telegram(known, paths)
        refused = await prove_telegram(other, paths)
    assert (good.verdict, refused.verdict) == (ProofVerdict.GOOD, ProofVerdict.REFUSED)
    assert good.said.startswith("@")


async def test_what_is_no_token_is_not_sent_anywhere(tmp_path: Path) -> None:
    wrong = TelegramSettings(token=Secret("hello"), base_url="http://127.0.0.1:9")
    proof = await prove_telegram(wrong, Paths(None, tmp_path))
    assert proof.verdict is ProofVerdict.REFUSED
    assert "expected a token from @BotFather" in proof.said
