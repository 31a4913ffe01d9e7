"""What can be said here: few lines, by what is there, with sentences that work."""

import pytest

from agent.messages import ToolSpec
from agent.providers.offline.abilities import MAX_ABILITIES, abilities
from agent.providers.offline.interpreter import understand
from agent.providers.offline.lexicon import LANGUAGES, lexicon
from agent.providers.offline.likeness import Likenesses
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import Step
from agent.providers.offline.toolbox import toolbox
from agent.providers.offline.voice import Voice
from tests.providers.offline.talk import Talk
from tests.providers.offline.toolset import AGENT, RICH, RICH_RESULTS, TIME_NOW, choice, spec

HELP = {"en": "what can you do?", "de": "Was kannst du?", "es": "¿qué puedes hacer?"}
HELP |= {"zh": "你能做什么？", "ja": "何ができますか？", "ko": "뭘 할 수 있어?"}
# Timers are no tools of a board
BY_TOOLS = set(lexicon("en").wording["abilities"]) - {"timer"}


async def _all(code: str, tools: tuple[ToolSpec, ...]) -> list[tuple[str, str]]:
    box = toolbox(tools)

    async def read(said: str) -> Step:
        analysis = analyse(said, code, box.names)
        return (await understand(analysis, box, [], None, Likenesses(None))).step

    found = await abilities(box, Voice(code), read, most=100)
    return [(one.line, one.example) for one in found]


@pytest.mark.parametrize("code", LANGUAGES)
async def test_every_kind_has_a_sentence_that_is_understood(code: str) -> None:
    wording = lexicon(code).wording["abilities"]
    lines = [line for line, _ in await _all(code, RICH)]
    assert set(lines) == {wording[key]["line"] for key in BY_TOOLS}


@pytest.mark.parametrize("code", LANGUAGES)
async def test_every_example_does_something_when_it_is_said(code: str) -> None:
    for _, example in await _all(code, RICH):
        response = await Talk(RICH, RICH_RESULTS).say(example)
        assert response.tool_calls, (example, response.text)


@pytest.mark.parametrize("code", sorted(HELP))
async def test_help_is_ten_lines_for_people(code: str) -> None:
    answer = await Talk(RICH, RICH_RESULTS).ask(HELP[code])
    lines = [line for line in answer.splitlines() if line.startswith("- ")]
    assert len(lines) == MAX_ABILITIES
    assert "_" not in "".join(lines)


async def test_only_what_is_there_is_told() -> None:
    little = await _all("en", (TIME_NOW,))
    assert little == [("tell the time and the date", "what time is it?")]
    agent = [example for _, example in await _all("en", AGENT)]
    assert not any("turn" in example for example in agent)


async def test_the_names_are_the_owners_own() -> None:
    pins = {**choice("d7", "x_9"), "description": "d7 (fountain; in garden)"}
    tools = (spec("board_gpio_write", "Set an output.", {"pin": pins, "value": choice("off", "on")},
                  effect=RICH[0].effect),)  # fmt: skip
    ((_, switch), *_) = await _all("en", tools)
    assert switch == "turn on fountain"
