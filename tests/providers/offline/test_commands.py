"""Tools that nobody knew when the vocabulary was written, and what is asked of them."""

import pytest

from agent.messages import Effect
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.toolset import AGENT, choice, spec


def _number(low: float, high: float) -> dict[str, object]:
    return {"type": "number", "minimum": low, "maximum": high}


STRANGE = (
    spec(
        "garden_servo_move",
        "Move a servo to an angle.",
        {"servo": choice("arm", "base"), "angle": _number(0, 180)},
        effect=Effect.ACTUATE,
    ),
    spec(
        "garden_pwm_write",
        "Set the duty cycle of an output in percent.",
        {"pin": choice("fan", "strip"), "duty": {"type": "integer", "minimum": 0, "maximum": 100}},
        effect=Effect.ACTUATE,
    ),
    spec(
        "garden_blink",
        "Blink the status light some times.",
        {"times": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3}},
        required=(),
        effect=Effect.ACTUATE,
    ),
    spec(
        "garden_gpio_write",
        "Set an output.",
        {
            "pin": {
                **choice("led", "red_led", "green_led", "heater1", "heater2", "d7"),
                "description": "red_led (alarm lamp), d7 (fountain, water pump)",
            },
            "value": choice("off", "on"),
        },
        effect=Effect.ACTUATE,
    ),
    spec(
        "garden_valve_set",
        "Open or close a valve.",
        {"valve": choice("inlet", "outlet"), "state": choice("closed", "open")},
        effect=Effect.HAZARD,
    ),
    spec("garden_buzzer", "Sound it.", {"loud": {"type": "boolean"}}, effect=Effect.ACTUATE),
    spec("garden_reboot", "Restart.", effect=Effect.HAZARD),
    spec("i2c_scan", "List the devices on the bus."),
    spec("weather_report", "Forecast for a city.", {"city": {"type": "string"}}),
    spec("odd_tool", "Takes what nobody can say.", {"matrix": {"type": "array"}}),
    spec("odder_tool", "Has a strange schema.", {"x": {"type": ["string", "null"]}}, required=()),
    *AGENT,
)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("move the arm to 90", "garden_servo_move servo=arm angle=90"),
        ("rotate base to 45.5 degrees", "garden_servo_move servo=base angle=45.5"),
        ("move the arm to ninety degrees", "garden_servo_move servo=arm angle=90"),
        ("把arm转到４５度", "garden_servo_move servo=arm angle=45"),
        ("把arm转到九十度", "garden_servo_move servo=arm angle=90"),
        ("Bewege base auf 22,5 Grad", "garden_servo_move servo=base angle=22.5"),
        ("set the fan to 50 percent", "garden_pwm_write pin=fan duty=50"),
        ("set the fan to twenty five", "garden_pwm_write pin=fan duty=25"),
        ("set the fan to 50.5", "ask"),
        ("blink", "garden_blink"),
        ("blink 5 times", "garden_blink times=5"),
        ("turn on the led", "garden_gpio_write pin=led value=on"),
        ("turn on the red led", "garden_gpio_write pin=red_led value=on"),
        ("打开红色led", "garden_gpio_write pin=red_led value=on"),
        ("switch on heater 1", "garden_gpio_write pin=heater1 value=on"),
        ("switch off heater2", "garden_gpio_write pin=heater2 value=off"),
        ("turn on the heater", "ask"),
        ("turn on the fountain", "garden_gpio_write pin=d7 value=on"),
        ("打开水泵", "garden_gpio_write pin=d7 value=on"),
        ("open the inlet valve", "garden_valve_set valve=inlet state=open"),
        ("close the outlet", "garden_valve_set valve=outlet state=closed"),
        ("open the valve", "ask"),
        ("turn the buzzer on", "garden_buzzer loud=True"),
        ("turn the buzzer off", "garden_buzzer loud=False"),
        ("reboot", "garden_reboot"),
        ("don't reboot", "say"),
        ("should I reboot?", "say"),
        ("scan i2c", "i2c_scan"),
        ("weather report", "ask"),
    ],
)
async def test_a_tool_is_found_by_its_own_words_and_its_arguments_are_filled(
    said: str, wanted: str
) -> None:
    response = await Talk(STRANGE).say(said)
    assert outcome(response) == wanted, response.text


async def test_everything_off_is_every_output_at_its_rest() -> None:
    response = await Talk(STRANGE).say("turn everything off")
    pins = ("led", "red_led", "green_led", "heater1", "heater2", "d7")
    switches = [f"garden_gpio_write pin={pin} value=off" for pin in pins]
    valves = [f"garden_valve_set valve={valve} state=closed" for valve in ("inlet", "outlet")]
    levels = [f"garden_pwm_write pin={pin} duty=0" for pin in ("fan", "strip")]
    done = outcome(response).split("; ")
    assert set(done) == {*switches, *valves, *levels} or set(done) == {*switches, *valves}


async def test_all_of_what_was_named_is_all_of_it() -> None:
    wanted = "garden_gpio_write pin=heater1 value=off; garden_gpio_write pin=heater2 value=off"
    assert outcome(await Talk(STRANGE).say("turn both heaters off")) == wanted
    text = (await Talk(STRANGE).say("turn all heaters off tomorrow")).text
    assert text.endswith("Shall I turn heater1 off and turn heater2 off?")


async def test_a_device_that_is_not_here_is_named_when_another_is_asked_for() -> None:
    text = (await Talk(STRANGE).say("turn on the toaster")).text
    assert text.startswith("I do not know “toaster”. Which one: ")


async def test_a_condition_is_said_to_be_beyond_it_before_it_asks() -> None:
    text = (await Talk(STRANGE).say("turn on the led when it rains")).text
    assert text.startswith("I understood no time and no condition")
    assert text.endswith("Shall I turn the led on?")


@pytest.mark.parametrize(
    "said",
    [
        "turn on the led and the moon is made of green cheese",
        "the neighbours were loud, turn on the led",
        "turn on the shiny led",
        "led on table",
        "turn on the led 4",
        "turn on the led " + "now " * 150,
        "turn on the led" + " " * 3000 + "is what you must not do",
    ],
)
async def test_an_order_among_words_that_were_not_understood_is_asked_back(said: str) -> None:
    assert outcome(await Talk(STRANGE).say(said)) == "ask"


async def test_a_sentence_before_an_order_is_left_alone() -> None:
    response = await Talk(STRANGE).say("The neighbours were loud today. Turn on the led.")
    assert outcome(response) == "garden_gpio_write pin=led value=on"
