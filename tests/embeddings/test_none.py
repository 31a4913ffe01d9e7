import pytest

from agent.embeddings.none import NoEmbedder
from agent.errors import EmbedderUnavailable


async def test_there_is_no_model_and_it_says_so() -> None:
    embedder = NoEmbedder()
    assert embedder.dimensions == 0
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a"])
    await embedder.aclose()
