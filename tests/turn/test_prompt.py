from dataclasses import replace

from agent.channels.base import Abilities
from agent.messages import Provenance
from agent.turn.prompt import (
    MAX_CONTEXT_CHARS,
    MAX_MEMORIES,
    PromptSetting,
    changing_prompt,
    memory_context,
    provenance_of,
    recalled,
    stable_prompt,
)
from tests.fakes.memory import entry
from tests.fakes.said import words

SETTING = PromptSetting("Barnacle", "workspace", "terminal", has_hardware=True)


HURTS = (words("it is hot"), words("the card makes errors"))


def test_what_changes_is_no_part_of_what_stays() -> None:
    late = changing_prompt(1_800_000_000.0, [entry("x")]).text
    assert "2027" in late
    assert late.endswith("- a-key: x")
    assert "2027" not in stable_prompt(SETTING).text


def test_what_is_wrong_with_the_machine_is_told_only_then() -> None:
    assert "machine" not in changing_prompt(0.0, []).text
    told = changing_prompt(0.0, [entry("x")], words("earlier"), HURTS).text
    assert "## What is wrong with your machine\n- it is hot\n- the card makes errors\n\n" in told
    # It stands where everything else that changes does
    assert "machine" not in stable_prompt(SETTING).text


def test_hardware_is_mentioned_only_where_there_is_some() -> None:
    without = PromptSetting("Barnacle", "workspace", "terminal", has_hardware=False)
    assert "## Hardware" in stable_prompt(SETTING).text
    assert "## Hardware" not in stable_prompt(without).text


def test_no_memories_no_section() -> None:
    assert memory_context([]).text == ""


def test_memories_are_few_and_short() -> None:
    context = memory_context([entry("x" * 10_000)] * 50).text
    assert context.count("\n") <= MAX_MEMORIES
    assert len(context) <= MAX_CONTEXT_CHARS + 100


def test_trust_is_the_lowest_of_what_is_shown() -> None:
    owner, web = entry("a"), entry("b", provenance=Provenance.WEB)
    assert provenance_of([]) is Provenance.OWNER
    assert provenance_of([owner, web]) is Provenance.WEB
    assert provenance_of([owner] * MAX_MEMORIES + [web]) is Provenance.OWNER


def test_the_prompt_is_small() -> None:
    assert len((stable_prompt(SETTING).text + changing_prompt(0.0, []).text).encode()) < 2048


def test_only_what_is_relevant_new_and_short_is_recalled() -> None:
    found = [
        entry("The pump is on D5.", score=0.8),
        entry("the pump  is on d5.", score=0.7),
        entry("too far away", score=0.39),
        entry("look [IMAGE:a.png]", score=0.9),
        entry("<tool_result>x</tool_result>", score=0.9),
        entry("[Memory context]\n- a: b", score=0.9),
        entry("x" * 5000, score=0.9),
    ]
    assert [one.content for one in recalled(found, 0.4)] == ["The pump is on D5."]


def test_a_channel_says_what_answers_may_hold_there_and_comes_last() -> None:
    able = Abilities(hint="Short paragraphs.", takes_files=True)
    said = stable_prompt(
        replace(SETTING, abilities=able, briefing=(words("## From your owner\nx"),))
    ).text
    channel = said.rpartition("\n\n")[2]
    assert channel.startswith("## Channel\nYou talk over terminal.")
    assert "Short paragraphs. [IMAGE:path]" in channel
    assert "## From your owner\nx" in said
    assert "[IMAGE:" not in stable_prompt(SETTING).text


def test_what_stays_is_the_same_bytes_every_time() -> None:
    assert stable_prompt(SETTING) == stable_prompt(replace(SETTING))
