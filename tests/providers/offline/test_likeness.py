"""Paraphrases by embeddings: what they find, what they never do, and how they fail."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.embeddings.base import Embedder
from agent.embeddings.onnx import OnnxEmbedder
from agent.messages import Effect
from agent.providers.offline import likeness
from agent.providers.offline.pieces import analyse
from agent.providers.offline.provider import OfflineProvider
from tests.fakes.embedders import AbsentEmbedder, DamagedEmbedder, LetterEmbedder, StalledEmbedder
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.toolset import TOOLS, spec


@pytest.fixture
async def model(model_dir: Path) -> AsyncIterator[Embedder]:
    embedder = OnnxEmbedder(model_dir)
    yield embedder
    await embedder.aclose()


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("how chilly is it", "board_mcu_temperature"),
        ("what's the weather like inside", "board_mcu_temperature"),
        ("do the plants need some water", "board_adc_read pin=moisture"),
        ("which hardware is attached", "board_info"),
        ("how's the machine", "system_info"),
        ("what have you learned of me", "memory_recall"),
        ("it's so gloomy in here", "ask"),
        ("give the plants a drink", "ask"),
        ("die Blumen sind durstig", "ask"),
        ("las plantas tienen sed", "ask"),
        ("the plants are no longer thirsty", "say"),
        ("tell me a joke", "say"),
        ("order a taxi", "say"),
        ("let's talk about philosophy", "say"),
    ],
)
async def test_with_the_model_paraphrases_are_understood(
    model: Embedder, said: str, wanted: str
) -> None:
    response = await Talk(provider=OfflineProvider(model)).say(said)
    got = outcome(response)
    assert got == wanted or got.startswith(f"{wanted} query="), response.text


async def test_a_tool_is_found_by_its_description_and_asked_about_before_it_acts(
    model: Embedder,
) -> None:
    feeder = spec("hopper_open", "Drop some food for the cat.", effect=Effect.ACTUATE)
    talk = Talk((*TOOLS, feeder), provider=OfflineProvider(model))
    assert (await talk.say("feed my hungry cat")).text == "Shall I use hopper open?"
    assert outcome(await talk.say("yes")) == "hopper_open"


async def test_a_sentence_of_the_vocabulary_is_understood_without_any_model() -> None:
    assert outcome(await Talk().say("Make it bright, please!")) == (
        "board_gpio_write pin=led value=on"
    )
    assert outcome(await Talk().say("don't make it bright")) == "say"


async def test_a_sentence_that_only_says_how_things_are_is_asked_back() -> None:
    assert outcome(await Talk().say("I am freezing")) == "ask"


async def test_likeness_alone_never_acts() -> None:
    talk = Talk(provider=OfflineProvider(LetterEmbedder()))
    assert outcome(await talk.say("make it brightish")) == "ask"


async def test_vectors_of_the_vocabulary_are_made_once() -> None:
    embedder = LetterEmbedder()
    likenesses = likeness.Likenesses(embedder)
    await likenesses.sentences(analyse("quite another thing", "en"))
    before = len(embedder.embedded)
    await likenesses.sentences(analyse("something else again", "en"))
    assert len(embedder.embedded) == before + 1


@pytest.mark.parametrize("said", ["今日は天気がいいですね", "x" * 500, "   "])
async def test_what_the_model_cannot_judge_is_not_given_to_it(said: str) -> None:
    embedder = LetterEmbedder()
    await Talk(provider=OfflineProvider(embedder)).say(said)
    assert not embedder.embedded


@pytest.mark.parametrize("embedder", [AbsentEmbedder(), DamagedEmbedder(), StalledEmbedder()])
async def test_a_model_that_fails_or_stalls_leaves_words_to_do_the_work(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(likeness, "EMBED_TIMEOUT_S", 0.01)
    talk = Talk(provider=OfflineProvider(embedder))
    assert outcome(await talk.say("give the plants a drink")) == "say"
    assert outcome(await talk.say("turn on the led")) == "board_gpio_write pin=led value=on"
