import pytest

from agent.embeddings.base import Embedder
from agent.messages import Effect, ToolCall, ToolSpec
from agent.tools.ranking import ToolRanking
from agent.tools.registry import Registry
from agent.tools.selection import ToolSelection
from tests.fakes.embedders import AbsentEmbedder, DamagedEmbedder, LetterEmbedder
from tests.fakes.many_tools import crowded
from tests.fakes.said import assistant_said, spec_of, tool_said, user_said

NOTHING = {"type": "object", "properties": {}}
# Room for two of the padded tools
ROOM_TOKENS = 550


def spec(name: str, about: str) -> ToolSpec:
    return spec_of(name, about, NOTHING, Effect.READ)


async def names(sentence: str, specs: list[ToolSpec], embedder: Embedder | None) -> list[str]:
    return [one.name for one in await ToolRanking(embedder).ranked(sentence, specs)]


async def test_meaning_decides_where_no_word_is_the_same() -> None:
    specs = [spec("alpha", "Weigh a parcel."), spec("beta", "Illumination of rooms.")]
    assert await names("illuminate it", specs, LetterEmbedder()) == ["beta", "alpha"]


@pytest.mark.parametrize("embedder", [None, AbsentEmbedder(), DamagedEmbedder()])
async def test_without_a_model_words_decide(embedder: Embedder | None) -> None:
    specs = [spec("alpha", "Weigh a parcel."), spec("beta", "Illumination of rooms.")]
    assert await names("weigh this parcel", specs, embedder) == ["alpha", "beta"]
    assert await names("light the rooms", specs, embedder) == ["beta", "alpha"]


async def test_a_sentence_that_says_nothing_gets_what_is_wanted_most() -> None:
    specs = [spec("alpha", "Weigh a parcel."), spec("board_gpio_write", "Switch an output.")]
    assert await names("hm", specs, None) == ["board_gpio_write", "alpha"]
    assert await names("", specs, LetterEmbedder()) == ["board_gpio_write", "alpha"]


async def test_the_vectors_of_tools_are_made_once() -> None:
    embedder = LetterEmbedder()
    ranking = ToolRanking(embedder)
    specs = [spec("alpha", "Weigh a parcel.")]
    await ranking.ranked("one", specs)
    await ranking.ranked("two", specs)
    assert embedder.embedded == ["alpha: Weigh a parcel.", "one", "two"]


async def test_a_small_window_shows_what_the_last_message_needs_and_no_search() -> None:
    division = await ToolSelection(crowded()).fitting(
        [user_said("list the reflex rules"), assistant_said("none"), user_said("scan the i2c bus")],
        ROOM_TOKENS,
    )
    shown = [one.name for one in division.shown]
    assert "board_i2c_scan" in shown
    assert "tool_search" not in shown
    assert division.tokens <= ROOM_TOKENS
    everything = {one.name for one in crowded().specs()}
    assert {one.name for one in division.waiting} == everything - set(shown)


async def test_a_small_window_keeps_what_was_used_before() -> None:
    call = ToolCall("1", "datasheet_search", "{}")
    used = [assistant_said("", (call,)), tool_said(call, "{}")]
    for more in ([], [assistant_said("done"), user_said("and again")]):
        division = await ToolSelection(crowded()).fitting(
            [user_said("look it up"), *used, *more], ROOM_TOKENS
        )
        assert "datasheet_search" in [one.name for one in division.shown]


async def test_tools_that_all_fit_are_all_shown() -> None:
    registry = Registry(())
    division = await ToolSelection(registry).fitting([user_said("hi")], ROOM_TOKENS)
    assert division.shown == registry.specs() == ()
