"""Everything off: every output at its rest, told from what was read back."""

from typing import Any

import pytest
from msgspec.structs import replace

from agent.messages import Effect
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.toolset import FAN, GPIO_WRITE, SERVO, spec

PIXELS = spec(
    "board_pixels_write",
    "Give count pixels from first on one colour.",
    {
        "pin": {"enum": ["strip"]},
        "first": {"type": "integer", "minimum": 0, "maximum": 63},
        "count": {"type": "integer", "minimum": 1, "maximum": 64},
        **{
            name: {"type": "integer", "minimum": 0, "maximum": 255}
            for name in ("red", "green", "blue")
        },
    },
    effect=Effect.ACTUATE,
)
PI = spec(
    "gpio_write",
    "Switch an output of the Raspberry Pi itself on or off.",
    {
        "pin": {"enum": ["cooler"], "description": "cooler (; rests on)"},
        "value": {"enum": ["off", "on"]},
    },
    effect=Effect.HAZARD,
)
TOOLS = (GPIO_WRITE, FAN, SERVO, PIXELS, PI)
RESULTS: dict[str, Any] = {
    "board_gpio_write": lambda arguments: {**arguments},
    "board_pwm_write": lambda arguments: {**arguments},
    "board_servo_write": lambda arguments: {**arguments},
    "board_pixels_write": {"lit": 0},
    "gpio_write": lambda arguments: {**arguments},
}


async def test_switches_levels_servos_pixels_and_pins_of_the_pi_come_to_rest() -> None:
    done = outcome(await Talk(TOOLS).say("turn everything off")).split("; ")
    assert set(done) == {
        *(f"board_gpio_write pin={pin} value=off" for pin in ("led", "pump", "relay")),
        *(f"board_pwm_write pin={pin} frequency=0 duty=0" for pin in ("strip", "fan")),
        "board_servo_write pin=servo angle=-1",
        "board_pixels_write pin=strip first=0 count=64 red=0 green=0 blue=0",
        "gpio_write pin=cooler value=on",
    }


async def test_what_is_still_on_is_named_with_why() -> None:
    results = {
        **RESULTS,
        "board_pwm_write": lambda arguments: {**arguments, "duty": 50},
        "board_servo_write": "error: the board is not connected (no answer)",
    }
    answer = await Talk(TOOLS, results).ask("turn everything off")
    assert answer.startswith("Off: the led, the pump and the relay.")
    assert "the fan (50)" in answer
    assert "the servo (the board is not connected (no answer))" in answer
    assert "it is on at rest" in answer


@pytest.mark.parametrize(
    "said",
    [
        "stop all of my timers",
        "turn off all the heaters",
        "beende alle Timer",
        "停止所有闹钟",
        "clear everything off my calendar",
        "off all type of active devices",
        "turn all off and on",
        "alle Rollläden aus",
        "apaga todas las alarmas",
    ],
)
async def test_all_of_something_else_is_not_everything(said: str) -> None:
    assert outcome(await Talk(TOOLS).say(said)) in {"ask", "say"}


@pytest.mark.parametrize(
    "said", ["turn off all devices", "schalte alles aus", "全部关掉", "전부 꺼줘", "apaga todo"]
)
async def test_everything_is_said_in_many_ways(said: str) -> None:
    assert len((await Talk(TOOLS).say(said)).tool_calls) == 8


@pytest.mark.parametrize("name", ["lock", "bolt", "stop", "run", "play"])
@pytest.mark.parametrize("text", ["turn everything off", "apaga todo", "éteins tout", "alles aus"])
async def test_an_output_that_is_called_like_a_verb_is_one_of_all(name: str, text: str) -> None:
    pins = {"enum": ["lamp", name]}
    properties = {**GPIO_WRITE.parameters["properties"], "pin": pins}  # type: ignore[dict-item]
    tool = replace(GPIO_WRITE, parameters={**GPIO_WRITE.parameters, "properties": properties})
    done = outcome(await Talk((tool,), RESULTS).say(text))
    assert done == (f"board_gpio_write pin=lamp value=off; board_gpio_write pin={name} value=off")
