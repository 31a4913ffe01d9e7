from msgspec.structs import replace

from agent.channels.base import Abilities
from agent.memory.keys import key_of
from agent.messages import Provenance
from agent.turn.prompt import (
    MAX_CONTEXT_CHARS,
    MAX_PINNED_CHARS,
    MEMORY_HEADING,
    PromptSetting,
    changing_prompt,
    memory_context,
    owners_memories,
    recalled,
    stable_prompt,
    untrusted_context,
)
from tests.fakes.memory import entry
from tests.fakes.said import words

SETTING = PromptSetting("Barnacle", "workspace", "terminal", has_hardware=True)


HURTS = (words("it is hot"), words("the card makes errors"))


def test_what_changes_is_no_part_of_what_stays() -> None:
    late = changing_prompt(1_800_000_000.0, [entry("x")]).text
    assert "2027" in late
    assert late.endswith("- a-key: x (1970-01-01, owner)")
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


def test_memories_are_short_and_as_many_as_were_asked_for() -> None:
    assert memory_context([entry("a fact")] * 20).text.count("\n") == 20
    context = memory_context([entry("x" * 10_000)] * 50).text
    assert len(context) <= MAX_CONTEXT_CHARS + 100


def test_a_memory_has_its_day_and_whose_word_it_is() -> None:
    made = replace(entry("it is hot", provenance=Provenance.WEB), created_at_s=1_800_000_000.0)
    assert "it is hot (2027-01-15, unconfirmed)" in memory_context([made]).text


def test_a_key_that_nobody_chose_is_not_told() -> None:
    made = replace(entry("My sister is Mei"), key=key_of("My sister is Mei"))
    assert memory_context([made]).text.endswith("\n- My sister is Mei (1970-01-01, owner)")


def test_memories_below_the_owners_trust_are_a_message_of_their_own() -> None:
    owner, web = entry("a"), entry("b", provenance=Provenance.WEB)
    assert owners_memories([owner, web]) == [owner]
    assert untrusted_context([owner]) == ()
    [told] = untrusted_context([owner, web])
    assert told.is_recalled
    assert told.words.provenance is Provenance.WEB
    assert "- a-key: a" not in told.text


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


def test_what_is_pinned_comes_first_once_and_has_its_own_room() -> None:
    rule, far = entry("always in German", score=0.0), entry("too far away", score=0.1)
    found = [entry("The pump is on D5.", score=0.8), replace(rule, score=0.9), far]
    told = recalled(found, 0.4, [rule])
    assert [one.content for one in told] == ["always in German", "The pump is on D5."]
    many = [entry(f"rule {number}: {'x' * 80}") for number in range(20)]
    kept = recalled([], 0.4, [entry("y" * 700), *many])
    assert len(memory_context(kept).text) <= len(MEMORY_HEADING) + 1 + MAX_PINNED_CHARS
    assert 3 < len(kept) < 20
