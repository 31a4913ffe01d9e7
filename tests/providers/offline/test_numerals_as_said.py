"""Numbers as people say and write them: below zero, parts, minutes behind an hour."""

import json

import pytest

from agent.messages import ToolSpec
from agent.providers.offline.lexicon import variants
from agent.providers.offline.pieces import analyse
from agent.providers.offline.provider import OfflineProvider
from agent.providers.offline.units import split, tidy
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.timed_toolset import TIMED
from tests.providers.offline.toolset import RICH

PROVIDER = OfflineProvider()
_RICH_NAMES = {tool.name for tool in RICH}
TOOLS: tuple[ToolSpec, ...] = (*RICH, *(tool for tool in TIMED if tool.name not in _RICH_NAMES))


async def came_of(said: str) -> str:
    return outcome(await Talk(TOOLS, provider=PROVIDER).say(said))


@pytest.mark.parametrize(
    "said",
    [
        "tell me when the temperature drops under minus five",
        "tell me when the temperature is below negative 5 degrees",
        "tell me when the temperature is below –5 degrees",
        "sag mir Bescheid wenn die Temperatur unter minus fünf Grad fällt",
        "préviens-moi quand la température descend sous moins cinq degrés",
        "avvisami quando la temperatura scende sotto meno cinque gradi",
        "waarschuw me als de temperatuur onder min vijf graden zakt",
        "温度がマイナス5度を下回ったら教えて",
        "온도가 영하 5도 아래로 내려가면 알려줘",
    ],
)
async def test_a_limit_below_zero_is_watched_below_zero(said: str) -> None:
    response = await Talk(TOOLS, provider=PROVIDER).say(said)
    [call] = response.tool_calls
    assert (call.name, json.loads(call.arguments_json)["below"]) == ("watch_add", -5)


@pytest.mark.parametrize(
    "said",
    [
        "règle le chauffage à moins cinq degrés",
        "règle le chauffage à 21 virgule 5",
        "set the fan to 1/2",
        "set the fan to ½",
    ],
)
async def test_nothing_is_set_to_half_of_a_number(said: str) -> None:
    assert await came_of(said) in {"ask", "say"}


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("set the fan to .5", "board_pwm_write pin=fan frequency=0 duty=0.5"),
        ("set the heater to 21½ degrees", "board_heater_set temperature=21.5"),
        ("règle le ventilateur à un quart", "board_pwm_write pin=fan frequency=0 duty=25"),
        ("turn on the pump in 2½ hours", "timer_start seconds=9000 order=turn on the pump"),
        ("turn on the pump in .5 hours", "timer_start seconds=1800 order=turn on the pump"),
        ("allume la pompe à 20h30", "reminder_set order=allume la pompe at=20:30 language=fr"),
        ("ligue a bomba às 20h30", "reminder_set order=ligue a bomba at=20:30 language=pt"),
        ("zet de pomp om 20u30 aan", "reminder_set order=zet de pomp aan at=20:30 language=nl"),
        (
            "zet de pomp om half acht aan",
            "reminder_set order=zet de pomp aan at=07:30 or 19:30 language=nl",
        ),
        (
            "zet de pomp over anderhalf uur aan",
            "timer_start seconds=5400 order=zet de pomp aan language=nl",
        ),
    ],
)
async def test_a_number_is_read_as_it_is_written(said: str, wanted: str) -> None:
    assert await came_of(said) == wanted


@pytest.mark.parametrize("said", ["pon el ventilador a un tercio", "pon el ventilador a un cuarto"])
async def test_a_part_is_no_time_of_day(said: str) -> None:
    assert "reminder_set" not in await came_of(said)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("把暖气调到二十一点五度", "board_heater_set temperature=21.5"),
        ("七点五十提醒我喝水", "reminder_set text=喝水 at=07:50 or 19:50 language=zh"),
        ("7点30提醒我喝水", "reminder_set text=喝水 at=07:30 or 19:30 language=zh"),
        ("零点十分提醒我喝水", "reminder_set text=喝水 at=00:10 language=zh"),
        ("每天零点打开水泵", "reminder_set order=打开水泵 every=day 00:00 language=zh"),
    ],
)
async def test_the_mark_of_an_hour_is_a_decimal_point_as_well(said: str, wanted: str) -> None:
    assert await came_of(said) == wanted


@pytest.mark.parametrize(
    "said",
    [
        # Half a degree is none that it takes: it was an order for midnight
        "把加热器设为零点五度",
        # Off at half: which of them is meant, nobody can tell
        "turn the fan off at 50 %",
        "turn the heater off at 25 degrees",
        "schalte den lüfter bei 50 % aus",
        "éteins le ventilateur à 50 %",
        # Below zero, or a stroke between two things
        "set the fan to - 5",
        "set the heater to - 5 degrees",
        "tell me when the temperature is below - 5 degrees",
        # Not above is not above
        "温度が30度を超えていなかったら教えて",
        "告诉我温度没有超过30度的时候",
    ],
)
async def test_what_may_be_meant_otherwise_is_not_done(said: str) -> None:
    assert await came_of(said) in {"ask", "say"}


def test_less_at_the_beginning_is_no_sign() -> None:
    first, number, *_ = analyse("moins 2 degrés", "fr").pieces
    assert ("less" in first.senses, number.number) == (True, 2)


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (".5 and 1/2", [".5", "and", "1/2"]),
        ("2½ ½", ["2.5", "1⁄2"]),
        ("stop.5", ["stop", ".", "5"]),
        ("à 20h30, 2h", ["à", "20:30", ",", "2", "h"]),
    ],
)
def test_a_number_is_one_unit(said: str, wanted: list[str]) -> None:
    assert [unit.text for unit in split(tidy(said), variants())] == wanted


HALVES = [
    ("set the heater to twenty one and a half degrees", 21.5),
    ("stelle die Heizung auf einundzwanzigeinhalb Grad", 21.5),
    ("zet de kachel op eenentwintig en een halve graad", 21.5),
    ("zet de verwarming op 21,5 graden", 21.5),
    ("set the heater to 21 and a half degrees", 21.5),
    ("Heizung auf 21 einhalb Grad", 21.5),
    ("zet de kachel op 21 en een halve graad", 21.5),
]


@pytest.mark.parametrize(("said", "degrees"), HALVES)
async def test_half_a_degree_more_is_set(said: str, degrees: float) -> None:
    assert outcome(await Talk(RICH).say(said)) == f"board_heater_set temperature={degrees}"
