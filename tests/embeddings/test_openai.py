import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import numpy as np
import pytest

from agent.config import Secret
from agent.embeddings.keys import Key
from agent.embeddings.openai import (
    FIRST_PAUSE_S,
    MAX_ATTEMPTS,
    MAX_CHARS,
    REFUSED_REST_S,
    REST_S,
    OpenAIEmbedder,
)
from agent.embeddings.settings import EmbeddingsSettings
from agent.errors import EmbedderUnavailable
from agent.net.http import HttpClient
from tests.canaries import secret
from tests.fakes.clock import SteppedClock
from tests.fakes.embedding_service import answer, embeds, gives, vector_of
from tests.fakes.llm_server import LlmServer, Reply, Respond, running
from tests.waits import wait_until

KEY = Key(Secret(secret("embeddings")), "embeddings.api_key")


class Asked:
    """An embedder, its service and its clock."""

    def __init__(self, server: LlmServer, **settings: object) -> None:
        self.server = server
        self.clock = SteppedClock()
        self.http = HttpClient()
        given = {"provider": f"custom:{server.base_url}", "model": "small"} | settings
        made = EmbeddingsSettings(**given)  # type: ignore[arg-type]  # keys of the section
        self.embedder = OpenAIEmbedder(made, KEY, self.http, self.clock)

    @property
    def texts(self) -> list[object]:
        return [request.body["input"] for request in self.server.requests]


@asynccontextmanager
async def asking(*script: Reply | Respond, **settings: object) -> AsyncIterator[Asked]:
    async with running(*script) as server:
        asked = Asked(server, **settings)
        try:
            yield asked
        finally:
            await asked.http.aclose()


async def test_vectors_come_with_length_one_in_the_order_of_the_texts() -> None:
    texts = ["a", "much longer", ""]
    async with asking(embeds) as service:
        made = await service.embedder.embed(texts)
    expected = [vector_of(text or " ") for text in texts]
    assert np.allclose(made, [np.array(one) / np.linalg.norm(one) for one in expected])
    assert made.dtype == np.float32


async def test_the_request_is_what_the_interface_wants() -> None:
    async with asking(embeds, dimensions=3) as service:
        await service.embedder.embed(["a"])
        [request] = service.server.requests
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.headers["authorization"] == f"bearer {secret('embeddings')}"
    assert request.body == {
        "model": "small",
        "input": ["a"],
        "encoding_format": "float",
        "dimensions": 3,
    }


async def test_many_texts_go_in_several_requests() -> None:
    texts = [f"text {number}" for number in range(130)] + ["x" * 60_000] * 9
    async with asking(embeds) as service:
        made = await service.embedder.embed(texts)
        sent = service.texts
    assert len(made) == len(texts)
    assert [len(batch) for batch in sent if isinstance(batch, list)] == [64, 64, 9, 2]
    assert all(
        len(text) <= MAX_CHARS for batch in sent if isinstance(batch, list) for text in batch
    )


async def test_nothing_to_embed_asks_nobody() -> None:
    async with asking(embeds, dimensions=3) as service:
        assert (await service.embedder.embed([])).shape == (0, 3)
        assert service.texts == []


async def test_halves_of_characters_are_sent_as_question_marks() -> None:
    async with asking(embeds) as service:
        await service.embedder.embed(["\ud800"])
        assert service.texts == [["?"]]


async def test_a_service_that_is_busy_is_asked_again_when_it_says() -> None:
    busy = answer({"error": {"message": "slow down"}}, 429, retry_after="7")
    async with asking(busy, answer("", 503), embeds) as service:
        assert len(await service.embedder.embed(["a"])) == 1
        assert service.clock.slept_s == [7.0, 2 * FIRST_PAUSE_S]


async def test_who_asks_for_a_long_wait_is_left_alone_that_long() -> None:
    busy = answer("", 429, retry_after="600")
    async with asking(busy, embeds) as service:
        with pytest.raises(EmbedderUnavailable, match="cannot embed now"):
            await service.embedder.embed(["a"])
        service.clock.advance(599)
        with pytest.raises(EmbedderUnavailable, match="next attempt in 1 s"):
            await service.embedder.embed(["a"])
        assert len(service.texts) == 1
        service.clock.advance(2)
        assert len(await service.embedder.embed(["a"])) == 1


async def test_a_service_that_stays_broken_is_not_asked_at_every_turn() -> None:
    async with asking(answer("", 500)) as service:
        for _ in range(5):
            with pytest.raises(EmbedderUnavailable):
                await service.embedder.embed(["a"])
        assert len(service.texts) == MAX_ATTEMPTS
        service.clock.advance(REST_S + 1)
        with pytest.raises(EmbedderUnavailable):
            await service.embedder.embed(["a"])
        assert len(service.texts) == 2 * MAX_ATTEMPTS


async def test_a_refused_key_is_told_by_its_place_and_never_shown() -> None:
    told = {"error": {"message": f"Incorrect API key provided: {secret('embeddings')}"}}
    async with asking(answer(told, 401)) as service:
        with pytest.raises(EmbedderUnavailable) as refused:
            await service.embedder.embed(["a"])
        service.clock.advance(REFUSED_REST_S - 1)
        with pytest.raises(EmbedderUnavailable):
            await service.embedder.embed(["a"])
        assert len(service.texts) == 1
    assert "refused the key from embeddings.api_key (401" in str(refused.value)
    assert "canary" not in str(refused.value)


async def test_a_model_that_is_not_there_is_named() -> None:
    async with asking(answer({"error": "no such model"}, 404)) as service:
        with pytest.raises(EmbedderUnavailable, match="has no model small at http://127"):
            await service.embedder.embed(["a"])


async def test_a_refused_text_does_not_stop_the_next_one() -> None:
    async with asking(answer({"error": "bad text"}, 400), embeds) as service:
        with pytest.raises(EmbedderUnavailable, match="refused to embed"):
            await service.embedder.embed(["a"])
        assert len(await service.embedder.embed(["b"])) == 1


@pytest.mark.parametrize(("most_bytes", "chars"), [(8191, 2000), (2048, 400)])
@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "maximum context length"),
        (413, "maximum context length"),
        # llama.cpp, whose limit is 512 tokens unless it is told another; an older Ollama
        (500, "input (3926 tokens) is too large to process. increase the physical batch size"),
        (500, "the input length exceeds the context length"),
    ],
)
async def test_a_text_that_is_too_long_keeps_no_other_from_its_vector(
    most_bytes: int, chars: int, status: int, said: str
) -> None:
    def refuses_more(body: Mapping[str, object]) -> Reply:
        texts = body["input"]
        assert isinstance(texts, list)
        if any(len(text.encode()) > most_bytes for text in texts):
            return answer({"error": {"message": said}}, status)
        return embeds(body)

    long = "\u1019\u103c" * 10_000
    async with asking(refuses_more) as service:
        made = await service.embedder.embed(["a", long])
        assert np.allclose(made[0] / made[0][1], vector_of("a"))
        assert np.allclose(made[1] / made[1][1], vector_of(long[:chars]), rtol=1e-3)
        assert len(await service.embedder.embed(["b"])) == 1


@pytest.mark.parametrize(
    "reply",
    [
        answer('{"data": [{"index": 0, "embedding": [NaN, 1]}]}'),
        answer('{"data": [{"index": 0, "embedding": [1e999, 1]}]}'),
        gives([0, 0, 0]),
        gives([]),
        gives([1.0] * 9000),
        gives(["1", "2"]),
        gives([1, 2], [3, 4]),
        gives(),
        answer({"data": [{"index": 7, "embedding": [1, 2]}]}),
        answer({"data": {}}),
        answer("[" * 100_000),
        answer("<html>sign in</html>"),
        answer(""),
        Reply(b"\xff\xfe", 200, "application/json"),
        answer('{"data": ['),
    ],
)
async def test_what_are_no_vectors_is_refused(reply: Reply | Respond) -> None:
    async with asking(reply) as service:
        with pytest.raises(EmbedderUnavailable, match="sent no usable vectors"):
            await service.embedder.embed(["a"])


async def test_another_length_than_before_is_refused() -> None:
    async with asking(gives([1, 2, 3]), gives([1, 2])) as service:
        await service.embedder.embed(["a"])
        assert service.embedder.dimensions == 3
        with pytest.raises(EmbedderUnavailable, match="2 numbers where 3 are expected"):
            await service.embedder.embed(["a"])


async def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    endless = answer('{"data": [' + " " * (17 * 1024 * 1024))
    async with asking(endless) as service:
        with pytest.raises(EmbedderUnavailable, match="more than 16777216 bytes"):
            await service.embedder.embed(["a"])


async def test_without_a_network_it_says_so_and_rests() -> None:
    async with asking(embeds) as service:
        pass
    for _ in range(2):
        with pytest.raises(EmbedderUnavailable, match="could not be reached"):
            await service.embedder.embed(["a"])
    assert service.texts == []


async def test_who_gave_up_waiting_does_not_wait_again_at_once() -> None:
    async with asking(Reply(b"{", stalls=True)) as service:
        task = asyncio.create_task(service.embedder.embed(["a"]))
        await wait_until(lambda: service.texts)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(EmbedderUnavailable, match="took too long; next attempt in 30 s"):
            await service.embedder.embed(["a"])


async def test_its_name_tells_service_model_and_length() -> None:
    async with asking(embeds) as service:
        host = service.server.base_url.removeprefix("http://").removesuffix("/v1")
        assert service.embedder.model_id == f"{host}/small"
    async with asking(embeds, dimensions=256) as service:
        assert service.embedder.model_id.endswith("/small@256")
        assert service.embedder.dimensions == 256


def test_a_known_model_has_its_length_before_it_is_asked() -> None:
    known = OpenAIEmbedder(
        EmbeddingsSettings(provider="openai"), None, HttpClient(), SteppedClock()
    )
    assert known.model_id == "api.openai.com/text-embedding-3-small"
    assert known.dimensions == 1536
