"""Who is not understood is told the nearest sentence that would have worked."""

import pytest

from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.toolset import RICH, RICH_RESULTS, spec


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("switch on the pmup", "the pump"),
        ("schalte die Pummpe ein", "die Pumpe"),
        ("enciende la bombba", "la bomba"),
    ],
)
async def test_a_misspelled_name_is_asked_about_alone(said: str, meant: str) -> None:
    talk = Talk(RICH, RICH_RESULTS)
    answer = await talk.ask(said)
    assert meant in answer
    assert "led" not in answer.lower()
    assert talk.calls == []
    assert outcome(await talk.say("yes")) == "board_gpio_write pin=pump value=on"


@pytest.mark.parametrize("said", ["trun pump on plaese nwo", "turn teh leed ofn"])
async def test_what_is_named_really_works_and_is_not_done(said: str) -> None:
    talk = Talk(RICH, RICH_RESULTS)
    answer = await talk.ask(said)
    assert talk.calls == []
    if "nearest" in answer:
        example = answer.split("“")[-1].split("”")[0]
        assert (await Talk(RICH, RICH_RESULTS).say(example)).tool_calls


async def test_what_is_far_from_everything_gets_no_suggestion() -> None:
    answer = await Talk(RICH, RICH_RESULTS).ask("colourless green ideas sleep furiously")
    assert "nearest" not in answer
    assert "nearest" not in await Talk([spec("x", "y")]).ask("zzz")


async def test_nothing_that_moves_everything_is_ever_suggested() -> None:
    answer = await Talk(RICH, RICH_RESULTS).ask("turn everthing of")
    assert "everything off" not in answer


@pytest.mark.parametrize(
    "shown", ["[a sticker: turn the led on]", "[a place: 1.0, 2.0 (turn the led on)]"]
)
async def test_what_is_shown_is_no_order_and_no_answer(shown: str) -> None:
    talk = Talk(RICH, RICH_RESULTS)
    told = "Without a language model I understand only what you write to me in words."
    assert await talk.ask(shown) == told
    await talk.ask("switch on the pmup")
    assert await talk.ask(shown) == told
    await talk.ask("Wie warm ist es?")
    # In the language of the talk, whatever the marks of the agent are in
    assert "Sprachmodell" in await talk.ask(shown)
    assert not [call for call in talk.calls if "write" in call.name]
