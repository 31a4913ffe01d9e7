"""Questions that are asked back, and the short answers to them."""

import pytest

from agent.messages import Effect, ToolCall
from agent.providers.base import ChatRequest
from agent.providers.offline.provider import OfflineProvider
from tests.fakes.said import assistant_said, tool_said, user_said
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.toolset import AGENT, GPIO_READ, TOOLS, choice, spec

TWO_LAMPS = (
    spec(
        "board_gpio_write",
        "Set an output.",
        {"pin": choice("led", "lamp", "pump"), "value": choice("off", "on")},
        effect=Effect.ACTUATE,
    ),
    spec(
        "board_servo_move",
        "Move a servo to an angle.",
        {
            "servo": choice("arm", "base"),
            "angle": {"type": "integer", "minimum": 0, "maximum": 180},
        },
        effect=Effect.ACTUATE,
    ),
    GPIO_READ,
    *AGENT,
)


@pytest.mark.parametrize(
    ("said", "question", "reply"),
    [
        ("turn it on", "Which one: the led, the pump or the relay?", "the pump"),
        ("打开它", "是哪一个：LED灯、水泵还是继电器？", "泵"),
        ("打開它", "是哪一個：LED燈、水泵還是繼電器？", "水泵"),
        ("つけて", "どれですか: LED、ポンプとリレー?".replace("と", "それとも"), "ポンプ"),
        ("켜줘", "어느 것인가요: LED, 펌프, 아니면 릴레이?", "펌프"),
        ("Schalte es ein", "Welches: die LED, die Pumpe oder das Relais?", "die Pumpe"),
        ("Enciéndelo", "¿Cuál: el led, la bomba o el relé?", "la bomba"),
    ],
)
async def test_a_device_that_was_not_named_is_asked_for_and_its_name_is_enough(
    said: str, question: str, reply: str
) -> None:
    talk = Talk()
    assert (await talk.say(said)).text == question
    assert outcome(await talk.say(reply)) == "board_gpio_write pin=pump value=on"


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("the lamp", "board_gpio_write pin=lamp value=on"),
        ("led please", "board_gpio_write pin=led value=on"),
        ("the first one", "board_gpio_write pin=led value=on"),
        ("2", "board_gpio_write pin=lamp value=on"),
        (
            "both",
            "board_gpio_write pin=led value=on; board_gpio_write pin=lamp value=on",
        ),
        ("neither", "say"),
        ("never mind", "say"),
        ("what time is it?", "time_now"),
        ("turn off the pump", "board_gpio_write pin=pump value=off"),
        ("the lamp?", "board_gpio_read pin=led"),
        ("don't", "say"),
    ],
)
async def test_between_two_readings_the_person_decides(reply: str, wanted: str) -> None:
    talk = Talk(TWO_LAMPS)
    assert (await talk.say("turn on the light")).text == "Do you mean the led or the lamp?"
    response = await talk.say(reply)
    assert outcome(response) == wanted, response.text


@pytest.mark.parametrize(
    ("said", "yes", "wanted"),
    [
        ("turn on the pump in five minutes", "yes", "board_gpio_write pin=pump value=on"),
        ("turn on the pump?", "yes please", "board_gpio_write pin=pump value=on"),
        ("五分钟后打开泵", "好的", "board_gpio_write pin=pump value=on"),
        ("明日ポンプをつけて", "はい", "board_gpio_write pin=pump value=on"),
        ("내일 펌프 켜줘", "네", "board_gpio_write pin=pump value=on"),
        ("Schalte die Pumpe morgen ein", "ja", "board_gpio_write pin=pump value=on"),
        ("Enciende la bomba mañana", "sí", "board_gpio_write pin=pump value=on"),
        ("turn on the pump in five minutes", "no", "say"),
        ("五分钟后打开泵", "不用了", "say"),
        (
            "turn everything on",
            "yes",
            "; ".join(f"board_gpio_write pin={pin} value=on" for pin in ("led", "pump", "relay")),
        ),
    ],
)
async def test_what_is_not_plain_is_done_only_after_a_yes(said: str, yes: str, wanted: str) -> None:
    talk = Talk()
    assert outcome(await talk.say(said)) == "ask"
    assert outcome(await talk.say(yes)) == wanted


@pytest.mark.parametrize(
    "reply", ["yes, tomorrow", "yes if it is dry", "yes but not now", "yes, she said", "yes?"]
)
async def test_a_yes_with_a_condition_is_no_yes(reply: str) -> None:
    talk = Talk()
    await talk.say("turn on the pump?")
    assert "gpio_write" not in outcome(await talk.say(reply))


async def test_what_is_to_happen_later_is_said_to_happen_at_once_before_which_is_asked() -> None:
    talk = Talk()
    now = "I understood no time and no condition in that, so it would happen at once."
    assert (await talk.say("in five minutes turn it on")).text.startswith(now)
    assert (await talk.say("the pump tomorrow")).text.startswith(now)
    assert outcome(await talk.say("yes")) == "board_gpio_write pin=pump value=on"


async def test_a_question_can_lead_to_another_before_something_is_done() -> None:
    talk = Talk(TWO_LAMPS)
    assert outcome(await talk.say("turn it on")) == "ask"
    assert (await talk.say("the light")).text == "Do you mean the led or the lamp?"
    assert outcome(await talk.say("the lamp")) == "board_gpio_write pin=lamp value=on"


async def test_a_number_that_is_missing_or_out_of_range_is_asked_for() -> None:
    talk = Talk(TWO_LAMPS)
    question = "What should “angle” be, from 0 to 180?"
    assert (await talk.say("move the arm to 500")).text == question
    assert outcome(await talk.say("ninety")) == "board_servo_move servo=arm angle=90"


async def test_a_text_that_is_missing_is_taken_as_it_is_said() -> None:
    talk = Talk()
    assert outcome(await talk.say("remember")) == "ask"
    wanted = "memory_store content=Anna likes the led green"
    assert outcome(await talk.say("Anna likes the led green")) == wanted


async def test_a_command_that_is_asked_about_does_not_hold_up_nor_lose_the_others() -> None:
    talk = Talk(TWO_LAMPS)
    assert outcome(await talk.say("turn on the light and tell me the time")) == "ask"
    wanted = "board_gpio_write pin=led value=on; time_now"
    assert outcome(await talk.say("the led")) == wanted


async def test_a_yes_to_nothing_does_nothing() -> None:
    talk = Talk()
    await talk.ask("turn on the pump")
    assert outcome(await talk.say("yes")) == "say"


async def test_a_yes_to_the_question_of_another_voice_does_nothing() -> None:
    messages = (
        user_said("turn on the pump in five minutes"),
        assistant_said("Shall I leave the pump alone?"),
        user_said("yes"),
    )
    assert outcome(await OfflineProvider().chat(ChatRequest(messages, TOOLS))) == "say"


async def test_a_question_with_a_notice_before_it_is_still_known_as_its_own() -> None:
    first = await Talk().say("turn it on")
    messages = (
        user_said("turn it on"),
        assistant_said(f"(I cannot reach the model: no network.) {first.text}"),
        user_said("the led"),
    )
    response = await OfflineProvider().chat(ChatRequest(messages, TOOLS))
    assert outcome(response) == "board_gpio_write pin=led value=on"


async def test_a_question_is_forgotten_when_something_else_was_said_since() -> None:
    talk = Talk()
    await talk.ask("turn it on")
    await talk.ask("hello")
    assert outcome(await talk.say("the pump")) == "board_gpio_read pin=pump"


async def test_the_tools_of_now_decide_what_a_question_meant() -> None:
    talk = Talk()
    await talk.ask("turn it on")
    talk.tools = AGENT
    assert outcome(await talk.say("the pump")) == "say"


async def test_calls_of_an_earlier_turn_are_not_taken_for_results_of_this_one() -> None:
    call = ToolCall("c1", "time_now", "{}")
    messages = (
        user_said("what time is it?"),
        assistant_said("", (call,)),
        tool_said(call, "error: no clock"),
        assistant_said("I could not read the clock: no clock"),
        user_said("turn on the led"),
    )
    response = await OfflineProvider().chat(ChatRequest(messages, TOOLS))
    assert outcome(response) == "board_gpio_write pin=led value=on"


VALVES = (
    spec(
        "board_gpio_write",
        "Set an output.",
        {"pin": choice("valve 2", "valve 3", "pump"), "value": choice("off", "on")},
        effect=Effect.ACTUATE,
    ),
    *AGENT,
)
SECOND = "board_gpio_write pin=valve 2 value=on"
THIRD = "board_gpio_write pin=valve 3 value=on"


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("2", SECOND),
        ("3", THIRD),
        ("two", SECOND),
        ("valve 2", SECOND),
        ("the second", "ask"),
        ("1", "say"),
        ("2 and 3", f"{SECOND}; {THIRD}"),
        ("valve 3 and valve 2", f"{THIRD}; {SECOND}"),
        ("valve 2 and the fridge", "say"),
        ("valve 2 and not 3", "say"),
        ("both", f"{SECOND}; {THIRD}"),
    ],
)
async def test_a_number_is_that_of_a_name_before_it_is_a_place(reply: str, wanted: str) -> None:
    talk = Talk(VALVES)
    assert outcome(await talk.say("turn on the valve")) == "ask"
    assert outcome(await talk.say(reply)) == wanted


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("the led and the pump", ["led", "pump"]),
        ("1 and 3", ["led", "relay"]),
    ],
)
async def test_several_things_may_be_the_answer(reply: str, wanted: list[str]) -> None:
    talk = Talk()
    await talk.say("turn it on")
    calls = "; ".join(f"board_gpio_write pin={one} value=on" for one in wanted)
    assert outcome(await talk.say(reply)) == calls


async def test_of_two_places_neither_is_done_alone() -> None:
    talk = Talk()
    await talk.say("turn it on")
    assert (await talk.say("the first and the third")).text == "Do you mean the led or the relay?"
