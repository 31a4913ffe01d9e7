"""Own names of things: before the vocabulary, with endings, and with words for their kind."""

import pytest

from agent.messages import Effect
from agent.providers.offline.pieces import analyse
from agent.providers.offline.toolbox import toolbox
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.toolset import RICH, spec

HOME = spec(
    "home_gpio_write",
    "Switch an output on or off.",
    {
        "pin": {
            "enum": ["light_1", "light_2", "heater1", "gate", "on", "desk_lamp"],
            "description": "light_1 (Play Corner, 무드등, 大門; in kitchen; of lamps), "
            "light_2 (Attic; in attic room; of lamps), gate (Front Door, Hauptventil; opens off)",
        },
        "value": {"enum": ["off", "on"]},
    },
    effect=Effect.ACTUATE,
)
TOOLS = (*RICH, HOME)
BOX = toolbox(TOOLS)


@pytest.mark.parametrize(
    ("said", "code", "wanted"),
    [
        ("turn on the play corner", "en", "@light_1"),
        ("turn on the play corners", "en", "@light_1"),
        ("the play corner lights", "en", "@light_1"),
        ("the lights of the play corner", "en", "@light_1"),
        ("무드등을 켜", "ko", "@light_1"),
        ("打开大门", "zh", "@light_1"),
        ("des Hauptventils", "de", "@gate"),
        ("heater 1 on", "en", "@heater1"),
        ("in the attic room", "en", "in:attic room"),
    ],
)
def test_a_name_is_found_as_people_say_it(said: str, code: str, wanted: str) -> None:
    senses = [sense for piece in analyse(said, code, BOX.names).pieces for sense in piece.senses]
    assert wanted in senses
    assert "light" not in senses


@pytest.mark.parametrize("said", ["the corner play", "새무드등", "play on the corner"])
def test_a_part_of_a_name_is_none(said: str) -> None:
    code = "ko" if "무" in said else "en"
    senses = [sense for piece in analyse(said, code, BOX.names).pieces for sense in piece.senses]
    assert not [sense for sense in senses if sense.startswith("@")]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("play corner lights on", "home_gpio_write pin=light_1 value=on"),
        ("desk lamp", "home_gpio_write pin=desk_lamp value=on"),
        ("open the front door", "home_gpio_write pin=gate value=off"),
        ("close the front door", "home_gpio_write pin=gate value=on"),
        ("lock the front door", "home_gpio_write pin=gate value=on"),
        ("schließe das Hauptventil auf", "home_gpio_write pin=gate value=off"),
        ("turn on the play corner in the kitchen", "home_gpio_write pin=light_1 value=on"),
        (
            "turn the lamps off",
            "home_gpio_write pin=light_1 value=off; home_gpio_write pin=light_2 value=off",
        ),
    ],
)
async def test_own_names_places_and_groups_are_acted_on(said: str, wanted: str) -> None:
    response = await Talk(TOOLS).say(said)
    assert outcome(response) == wanted, response.text


@pytest.mark.parametrize(
    "said",
    [
        "front door light on",
        "turn on the attic in the kitchen",
        "turn off all the fans in the kitchen",
        "turn on the play corner fan",
        "open play corner and close it",
        "desk lamp?",
        "is the desk lamp",
        "turn on the lamp",
    ],
)
async def test_what_only_sounds_like_a_name_moves_nothing(said: str) -> None:
    assert "write" not in outcome(await Talk(TOOLS).say(said))


VALVES = spec(
    "garden_gpio_write",
    "Switch an output on or off.",
    {
        "pin": {
            "enum": ["out_1", "out_2"],
            "description": "out_1 "
            "(valve 1, Ventil 1, válvula 1, vanne 1, valvola 1, klep 1, 1号阀门), out_2 "
            "(valve 2, Ventil 2, válvula 2, vanne 2, valvola 2, klep 2, 2号阀门)",
        },
        "value": {"enum": ["off", "on"]},
    },
    effect=Effect.ACTUATE,
)
OPENED = "garden_gpio_write pin=out_2 value=on"
BOTH = f"garden_gpio_write pin=out_1 value=on; {OPENED}"


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("open valve two", OPENED),
        ("Ventil zwei auf", OPENED),
        ("abre la válvula dos", OPENED),
        ("ouvre la vanne deux", OPENED),
        ("apri la valvola due", OPENED),
        ("open klep twee", OPENED),
        ("打开二号阀门", OPENED),
        ("open valve twenty two", "ask"),
        ("open two valves", "ask"),
        ("open both valves", BOTH),
        ("open all the valves", BOTH),
        ("öffne beide Ventile", BOTH),
        ("apri entrambe le valvole", BOTH),
        ("把两个阀门都打开", BOTH),
        ("open all valves but valve 1", "say"),
        ("open both valves but the first", "say"),
        ("open all valves, valve 1 not", "say"),
        ("open all valves excluding valve 1", "say"),
        ("öffne alle Ventile ausgenommen Ventil 1", "say"),
        ("ouvre les deux vannes hormis la vanne 1", "say"),
        ("apri tutte le valvole salvo la valvola 1", "say"),
        ("open alle kleppen uitgezonderd klep 1", "say"),
    ],
)
async def test_a_name_with_a_number_is_said_in_words_and_of_several(said: str, wanted: str) -> None:
    response = await Talk((*RICH, VALVES)).say(said)
    assert outcome(response) == wanted, response.text
