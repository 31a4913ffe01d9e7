"""Messages that take back what was just done: the truth, and the way back."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from agent.tools.cron import Jobs, cron_tools
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.timed_toolset import TIMED
from tests.providers.offline.toolset import RICH, RICH_RESULTS

_JOBS = tuple(tool.spec() for tool in cron_tools(cast("Jobs", None)))
TOOLS = tuple({spec.name: spec for spec in (*RICH, *TIMED, *_JOBS)}.values())
RESULTS: Mapping[str, Any] = {
    **RICH_RESULTS,
    "reminder_set": {"reminder": {"job": "reminder-1", "first": "2026-12-01T08:00:00"}},
    "memory_store": {"stored": "cat"},
}
OFF = "board_gpio_write pin=pump value=off"

TAKEN_BACK = [
    ("turn the pump on", "no", "yes"),
    ("turn the pump on", "don't", "yes"),
    ("turn the pump on", "no, don't!", "yes"),
    ("turn the pump on", "cancel", "yes"),
    ("turn the pump on", "undo that", "yes"),
    ("turn the pump on", "stop it", "yes"),
    ("turn the pump on", "don't turn the pump on", "yes"),
    ("turn the pump on", "no, the light", "yes"),
    ("turn the pump on for 10 minutes", "never mind", "yes"),
    ("schalte die Pumpe ein", "nein", "ja"),
    ("schalte die Pumpe ein", "doch nicht", "ja"),
    ("schalte die Pumpe ein", "mach das rückgängig", "ja"),
    ("allume la pompe", "non", "oui"),
    ("allume la pompe", "annule", "oui"),
    ("enciende la bomba", "no", "sí"),
    ("enciende la bomba", "cancela", "sí"),
    ("accendi la pompa", "no", "sì"),
    ("accendi la pompa", "annulla", "sì"),
    ("liga a bomba", "não", "sim"),
    ("liga a bomba", "cancela", "sim"),
    ("zet de pomp aan", "nee", "ja"),
    ("zet de pomp aan", "toch niet", "ja"),
    ("打开水泵", "不要", "好"),
    ("打开水泵", "取消", "好"),
    ("ポンプをつけて", "いいえ", "はい"),
    ("ポンプをつけて", "キャンセル", "はい"),
    ("펌프 켜줘", "아니", "네"),
    ("펌프 켜줘", "취소", "네"),
]


@pytest.mark.parametrize(("ordered", "taken_back", "yes"), TAKEN_BACK)
async def test_what_was_just_done_is_said_and_turned_back(
    ordered: str, taken_back: str, yes: str
) -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask(ordered)
    assert outcome(await talk.say(taken_back)) == "ask"
    assert outcome(await talk.say(yes)) == OFF


STOPPED = [
    ("set the fan to 80 %", "stop", "board_pwm_write pin=fan frequency=0 duty=0"),
    ("turn the led and the pump on", "stop", f"{OFF}; board_gpio_write pin=led value=off"),
    ("liga a bomba", "para", OFF),
    ("liga a bomba", "pare!", OFF),
]


@pytest.mark.parametrize(("ordered", "stop", "wanted"), STOPPED)
async def test_a_stop_ends_at_once_what_was_started(ordered: str, stop: str, wanted: str) -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask(ordered)
    assert outcome(await talk.say(stop)) == wanted


async def test_a_stop_sets_no_earlier_level() -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask("set the fan to 30 %")
    await talk.ask("set the fan to 80 %")
    assert outcome(await talk.say("stop")) == "board_pwm_write pin=fan frequency=0 duty=0"


KEPT = [
    ("in 10 minutes turn the pump on", "timer_cancel set_for_seconds=600 reminder=False"),
    ("remind me in 5 minutes to drink", "timer_cancel set_for_seconds=300 reminder=True"),
    ("remind me at 8 to feed the cat", "cron_remove name=reminder-1"),
    ("remember that my cat is called Tom", "memory_forget key=cat"),
]


@pytest.mark.parametrize(("ordered", "wanted"), KEPT)
async def test_what_is_kept_for_later_is_removed(ordered: str, wanted: str) -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask(ordered)
    assert outcome(await talk.say("no")) == "ask"
    assert outcome(await talk.say("yes")) == wanted


async def test_a_watch_that_is_taken_back_is_removed() -> None:
    talk = Talk(RICH, RICH_RESULTS)
    await talk.ask("tell me when the pump is off")
    assert outcome(await talk.say("no")) == "ask"
    assert outcome(await talk.say("yes")).startswith("watch_remove name=")


async def test_a_level_goes_back_to_the_one_before() -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask("set the servo to 90 degrees")
    await talk.ask("set the servo to 10 degrees")
    assert outcome(await talk.say("undo that")) == "ask"
    assert outcome(await talk.say("yes")) == "board_servo_write pin=servo angle=90"


@pytest.mark.parametrize(
    "ordered", ["turn everything off", "turn the pump off", "set the servo to 90 degrees"]
)
async def test_without_a_way_back_it_is_said_that_it_is_done(ordered: str) -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask(ordered)
    assert (await talk.ask("no")).startswith("That is done already, and I know no way back.")


@pytest.mark.parametrize("before", ["what is the temperature?", "thank you"])
async def test_where_nothing_was_done_nothing_is_taken_back(before: str) -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask(before)
    assert await talk.ask("no") == "All right, I did nothing."


async def test_what_failed_is_not_done() -> None:
    talk = Talk(TOOLS, {**RESULTS, "board_gpio_write": "error: the board is not there"})
    await talk.ask("turn the pump on")
    assert await talk.ask("no") == "All right, I did nothing."


async def test_praise_takes_nothing_back() -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask("turn the pump on")
    assert outcome(await talk.say("that was fast, thanks")) == "say"


OTHERWISE = [
    ("turn the pump on", "don't turn it off"),
    ("turn the pump on", "don't turn the pump off"),
    ("set the fan to 50 %", "don't go faster"),
    ("mach die Pumpe an", "nicht wieder aus"),
    ("stell den Lüfter auf 50 %", "nicht schneller"),
    ("打开泵", "别关掉"),
    ("ポンプをつけて", "消さないで"),
    ("펌프 켜줘", "끄지 마"),
]


@pytest.mark.parametrize(("ordered", "denied"), OTHERWISE)
async def test_what_is_not_to_come_takes_nothing_back(ordered: str, denied: str) -> None:
    talk = Talk(TOOLS, RESULTS)
    await talk.ask(ordered)
    assert outcome(await talk.say(denied)) == "say"
