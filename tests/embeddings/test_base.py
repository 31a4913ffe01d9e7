from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.normalizers import NFC, BertNormalizer, Normalizer

from agent.embeddings.base import TextPassage, readings
from agent.embeddings.onnx import OnnxEmbedder
from tests.fakes.embedders import LetterEmbedder
from tests.fakes.onnx_models import pooling, write_model


async def test_a_reading_of_a_text_alone_is_its_vector(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    [reading] = await readings(embedder, [TextPassage("my sister lives in Osaka")])
    [vector] = await embedder.embed(["my sister lives in Osaka"])
    assert float(reading.vector @ vector) > 0.999
    await embedder.aclose()


async def test_its_tokens_are_those_of_the_text_and_say_where_they_are(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    text = "yes, in Osaka"
    [reading] = await readings(embedder, [TextPassage(text, before="where does your sister live?")])
    assert [text[start:end].lower() for start, end in reading.spans or ()][:2] == ["yes", ","]
    assert len(reading.tokens) == len(reading.spans or ())
    await embedder.aclose()


async def test_what_came_before_moves_a_text_towards_its_subject(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    alone, after = await readings(
        embedder,
        [TextPassage("yes, in May"), TextPassage("yes, in May", before="Will your sister marry?")],
    )
    [asked] = await readings(
        embedder, [TextPassage("when is the wedding of the sister")], asked=True
    )
    assert float(asked.vector @ after.vector) > float(asked.vector @ alone.vector)
    await embedder.aclose()


async def test_a_long_text_leaves_no_room_for_what_came_before(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    [reading] = await readings(embedder, [TextPassage("word " * 2000, before="before " * 2000)])
    assert 250 < len(reading.tokens) <= 256
    assert np.isfinite(reading.vector).all()
    await embedder.aclose()


async def test_a_text_of_nothing_has_a_vector_and_no_tokens(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    [reading] = await readings(embedder, [TextPassage("", before="hello")])
    assert len(reading.tokens) == 0
    assert np.isfinite(reading.vector).all()
    await embedder.aclose()


async def test_a_model_that_tells_no_words_gives_the_vector_alone() -> None:
    [reading] = await readings(LetterEmbedder(), [TextPassage("some text", before="ignored")])
    assert reading.tokens.shape == (0, 256)
    assert reading.spans is None


async def test_words_that_the_model_does_not_know_are_left_out(model_dir: Path) -> None:
    embedder = OnnxEmbedder(model_dir)
    text = "hello 妹妹住在哪里"
    [reading] = await readings(embedder, [TextPassage(text)], asked=True)
    known = "".join(text[start:end] for start, end in reading.spans or ())
    assert "hello" in known
    assert "妹" not in known
    await embedder.aclose()


@pytest.mark.parametrize(("normalizer", "drops"), [(BertNormalizer(), True), (NFC(), False)])
async def test_a_model_tells_whether_it_reads_letters_without_their_marks(
    tmp_path: Path, *, normalizer: Normalizer, drops: bool
) -> None:
    folder = write_model(tmp_path / "model", settings=pooling("mean"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizer
    tokenizer.save(str(folder / "tokenizer.json"))
    embedder = OnnxEmbedder(folder)
    [reading] = await readings(embedder, [TextPassage("red green")])
    assert reading.drops_marks is drops
    await embedder.aclose()
