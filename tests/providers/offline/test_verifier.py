"""Acts against their messages: what is not said whole is not done."""

from typing import Any

import pytest

from agent.messages import Effect
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import Order
from agent.providers.offline.toolbox import toolbox
from agent.providers.offline.verifier import OrderScope, fault_in
from tests.providers.offline.toolset import RICH, choice, spec

OWN = spec(
    "home_gpio_write",
    "Switch an output on or off.",
    {
        "pin": {
            "enum": ["light_1", "light_2", "red_led", "led", "gate", "door", "desk_lamp"],
            "description": "light_1 (Play Corner, the stage; in kitchen; of lamps), "
            "light_2 (Attic; in kitchen; of lamps), gate (Main Valve; opens off; rests on), "
            "door (Front Door)",
        },
        "value": {"enum": ["off", "on"]},
    },
    effect=Effect.ACTUATE,
)
BLINK = spec(
    "home_blink",
    "Blink some times.",
    {"times": {"type": "integer", "minimum": 1, "maximum": 9}},
    effect=Effect.ACTUATE,
)
PAINT = spec("home_paint", "Paint it.", {"colour": {"type": "string"}}, effect=Effect.HAZARD)
MODE = spec("home_mode", "Change a mode.", {"mode": choice("eco", "boost")}, effect=Effect.ACTUATE)
BOX = toolbox((*RICH, OWN, BLINK, PAINT, MODE))


def switched(pin: str, value: str = "on") -> Order:
    return Order("board_gpio_write", {"pin": pin, "value": value})


def own(pin: str, value: str = "on") -> Order:
    return Order("home_gpio_write", {"pin": pin, "value": value})


def level(duty: float, pin: str = "fan") -> Order:
    return Order("board_pwm_write", {"pin": pin, "frequency": 0, "duty": duty})


def fault(
    said: str, *orders: Order, code: str = "en", scope: OrderScope = OrderScope.MESSAGE
) -> Any:
    return fault_in(orders, analyse(said, code, BOX.names), BOX, scope)


@pytest.mark.parametrize(
    ("said", "code", "orders"),
    [
        ("turn on the pump", "en", [switched("pump")]),
        ("please turn on the pump and the relay", "en", [switched("pump"), switched("relay")]),
        ("pump on, relay off", "en", [switched("pump"), switched("relay", "off")]),
        ("The neighbours were loud. Turn on the pump.", "en", [switched("pump")]),
        ("set the fan to twenty-one percent", "en", [level(21)]),
        ("set the speed of the fan to 40 %", "en", [level(40)]),
        ("lower the speed of the fan to 40 %", "en", [level(40)]),
        ("set the strip to full brightness", "en", [level(100, "strip")]),
        ("fan off", "en", [level(0)]),
        ("turn the fan on", "en", [level(100)]),
        ("把风扇设置为百分之五十", "zh", [level(50)]),
        ("把风扇设为七成", "zh", [level(70)]),
        ("把风扇调到8成", "zh", [level(80)]),
        ("把风扇调成五十", "zh", [level(50)]),
        ("팬을 7할로 설정해", "ko", [level(70)]),
        ("펌프를 켜고 온도를 알려줘", "ko", [switched("pump"), Order("board_mcu_temperature", {})]),
        ("play corner lights on", "en", [own("light_1")]),
        ("Desk lamp!", "en", [own("desk_lamp")]),
        ("open the main valve", "en", [own("gate", "off")]),
        ("close the front door", "en", [own("door", "off")]),
        ("turn the lamps off", "en", [own("light_1", "off"), own("light_2", "off")]),
        (
            "turn off everything in the kitchen",
            "en",
            [own("light_1", "off"), own("light_2", "off")],
        ),
        ("turn both light off", "en", [own("light_1", "off"), own("light_2", "off")]),
        ("turn everything off", "en", [switched("led", "off"), level(0), own("gate")]),
        ("打开红色led", "zh", [own("red_led")]),
        ("blink 5 times", "en", [Order("home_blink", {"times": 5})]),
        (
            "pulse the pump for 5 seconds",
            "en",
            [Order("board_pulse", {"pin": "pump", "duration": 5000})],
        ),
        ("paint green", "en", [Order("home_paint", {"colour": "green"})]),
        ("can you turn on the pump?", "en", [switched("pump")]),
    ],
)
def test_what_is_said_whole_is_done(said: str, code: str, orders: list[Order]) -> None:
    assert fault(said, *orders, code=code) is None


@pytest.mark.parametrize(
    ("said", "order", "word"),
    [
        ("turn on the pump and the toaster", switched("pump"), "toaster"),
        ("turn on the pump when I say so", switched("pump"), "when"),
        ("do not turn on the pump", switched("pump"), "do not"),
        ("turn on the pump in five minutes", switched("pump"), "five"),
        ("turn on the pump tomorrow", switched("pump"), "tomorrow"),
        ("turn on the pump?", switched("pump"), "?"),
        ("turn on the pump 3", switched("pump"), "3"),
        ("turn off all the timers", switched("pump", "off"), "timers"),
        ("turn on the pump", switched("relay"), ""),
        ("turn on the pump", switched("pump", "off"), ""),
        ("turn the pump on and off", switched("pump"), "off"),
        ("turn the pump on off", switched("pump"), ""),
        ("set the fan to 40 %", level(50), "%"),
        ("set the fan to twenty thirty percent", level(20), "twenty thirty"),
        ("set the fan to a bit", level(20), ""),
        ("set the fan to 40 % red", level(40), "red"),
        ("turn everything off", switched("pump"), ""),
        ("turn everything off", level(50), ""),
        ("turn everything off", Order("home_mode", {"mode": "eco"}), ""),
        ("close the main valve", own("gate", "off"), ""),
        ("turn off the toaster in the kitchen", own("light_1", "off"), "toaster"),
        ("paint green", Order("home_paint", {"colour": "blue"}), "paint"),
        ("the pump", switched("pump"), ""),
        ("set the fan to thirty and", level(30), "and"),
        ("desk lamp", own("desk_lamp", "off"), ""),
        ("main valve", own("gate"), ""),
        ("turn the fan", level(100), ""),
        ("pump on. Do not do it.", switched("pump"), "do not"),
        ("switch on the pump once a day", switched("pump"), "once"),
    ],
)
def test_what_is_not_said_is_not_done(said: str, order: Order, word: str) -> None:
    found = fault(said, order)
    assert found is not None
    assert found.word == word


@pytest.mark.parametrize(
    ("code", "said", "value"),
    [
        ("en", "stop turning the led off", "off"),
        ("en", "stop turning off the led", "off"),
        ("fr", "arrête d'éteindre la led", "off"),
        ("nl", "stop met de led uitdoen", "off"),
        ("zh", "停止关灯", "off"),
        ("pt", "pára de apagar a led", "off"),
        ("pt", "pára de ligar o led", "on"),
        ("pt", "para de ligar a bomba", "on"),
        ("ko", "펌프 그만 켜", "on"),
    ],
)
def test_a_deed_that_is_to_stop_is_not_done(code: str, said: str, value: str) -> None:
    for pin in ("led", "pump"):
        assert fault_in([switched(pin, value)], analyse(said, code), BOX) is not None


@pytest.mark.parametrize("said", ["turn off the led switch", "turn the led switch off"])
def test_a_switch_is_no_second_deed(said: str) -> None:
    assert fault_in([switched("led", "off")], analyse(said, "en"), BOX) is None


def test_how_far_a_level_goes_is_no_level() -> None:
    order = Order("board_servo_write", {"pin": "servo", "angle": 10})
    assert fault_in([order], analyse("turn the servo by 10 degrees", "en"), BOX) is not None
    assert fault_in([order], analyse("turn the servo to 10 degrees", "en"), BOX) is None


def test_half_a_name_is_told_from_none() -> None:
    assert fault("turn on the lamp", own("desk_lamp")).is_half_named
    assert not fault("turn on the toaster", own("desk_lamp")).is_half_named


def test_what_only_looks_needs_no_account() -> None:
    assert fault("is the toaster on?", Order("board_gpio_read", {"pin": "pump"})) is None
    assert fault("whatever", Order("no_such_tool", {})) is None


@pytest.mark.parametrize(
    ("said", "order", "scope"),
    [
        ("off again", switched("pump", "off"), OrderScope.EARLIER),
        ("again", level(60), OrderScope.EARLIER),
        ("5 % faster", level(55), OrderScope.EARLIER),
        ("the other one", switched("relay"), OrderScope.EARLIER),
        ("yes please", switched("relay"), OrderScope.REPLY),
        ("2", switched("relay"), OrderScope.REPLY),
        ("the relay", switched("relay"), OrderScope.REPLY),
        ("fifty", level(50), OrderScope.REPLY),
    ],
)
def test_what_earlier_messages_said_need_not_be_said_again(
    said: str, order: Order, scope: OrderScope
) -> None:
    assert fault(said, order, scope=scope) is None


@pytest.mark.parametrize(
    ("said", "order", "scope"),
    [
        ("on again", switched("pump", "off"), OrderScope.EARLIER),
        ("the pump too", switched("relay"), OrderScope.EARLIER),
        ("yes, but the toaster", switched("relay"), OrderScope.REPLY),
        ("fifty one", level(50), OrderScope.REPLY),
    ],
)
def test_what_is_said_beside_it_must_agree(said: str, order: Order, scope: OrderScope) -> None:
    assert fault(said, order, scope=scope) is not None


def test_a_bare_number_is_no_argument_that_can_be_left_as_it_is() -> None:
    order = Order("board_pwm_write", {"pin": "fan", "frequency": 50, "duty": 100})
    assert fault("fan maximum 50", order) is not None
    assert fault("fan maximum 50 hertz", order) is None
