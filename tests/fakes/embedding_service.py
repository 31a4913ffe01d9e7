"""What a service with `/embeddings` answers, as replies for the pretended model service."""

import json
from collections.abc import Mapping

from tests.fakes.llm_server import JSON, Reply

DIMENSIONS = 3


def vector_of(text: str) -> list[float]:
    """Told apart by length, whatever the text."""
    return [float(len(text)), 1.0, 0.5]


def embeds(body: Mapping[str, object]) -> Reply:
    """A vector for each text, the last one first, which the interface allows."""
    texts = body["input"]
    assert isinstance(texts, list)
    data = [
        {"object": "embedding", "index": place, "embedding": vector_of(text)}
        for place, text in enumerate(texts)
    ]
    return answer({"object": "list", "data": data[::-1], "usage": {"total_tokens": 3}})


def gives(*vectors: object) -> Reply:
    """These vectors, whatever is asked."""
    data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return answer({"data": data})


def answer(content: object, status: int = 200, **headers: str) -> Reply:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    text = content if isinstance(content, str) else json.dumps(content)
    return Reply(text.encode(), status, JSON, headers=named)
