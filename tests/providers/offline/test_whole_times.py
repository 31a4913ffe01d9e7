# ruff: noqa: E501  # one sentence a line
from typing import Any

import pytest

from tests.providers.offline.test_delayed_orders import called

ONLY_A_PART = [
    # It comes again, otherwise than by days of a week
    "remind me monthly at 8 to pay",
    "erinnere mich monatlich um 8 an die Miete",
    "recuérdame cada mes a las 8 pagar",
    "recuérdame cada dos semanas el lunes a las 8 pagar",
    "herinner me elke maand om 8 uur aan de huur",
    "herinner me om de twee dagen om 8 uur aan de pil",
    "隔天八点提醒我吃药",
    "2日ごとに7時にポンプをつけて",
    "2日おきに8時に薬をリマインドして",
    "毎月1日の7時に家賃をリマインドして",
    "2週間ごとに月曜8時にゴミをリマインドして",
    "이틀마다 8시에 약 먹으라고 알려 줘",
    "매달 1일 8시에 월세 내라고 알려 줘",
    "격일로 8시에 약 먹으라고 알려 줘",
    "周末八点提醒我跑步",
    # Two days or two times
    "remind me monday to friday at 8 to take pills",
    "rappelle-moi mardi ou mercredi à 8 h d'appeler",
    "rappelle-moi du lundi au vendredi à 8 h de prendre mes cachets",
    "rappelle-moi à 8 h ou à 9 h d'appeler",
    "recuérdame el martes o el miércoles a las 8 llamar",
    "recuérdame de lunes a viernes a las 8 tomar la pastilla",
    "herinner me dinsdag of woensdag om 8 uur aan bellen",
    "herinner me van maandag tot vrijdag om 8 uur aan de pil",
    "毎日7時と19時に薬をリマインドして",
    "月曜日か火曜日の8時にゴミをリマインドして",
    "月曜から金曜の8時に薬をリマインドして",
    # The time before or after
    "erinnere mich eine Stunde vor Mitternacht ans Schlafen",
    "erinnere mich eine Stunde nach Mitternacht ans Schlafen",
    "rappelle-moi une heure avant minuit de dormir",
    "rappelle-moi avant 8 h d'appeler",
    "rappelle-moi après 8 h d'appeler",
    "herinner me een uur voor middernacht aan slapen",
    "八点前提醒我吃药",
    "7時までにポンプをつけて",
    "8시 전에 전화하라고 알려 줘",
    "8시 10분 전에 전화하라고 알려 줘",
]


@pytest.mark.parametrize("text", ONLY_A_PART)
async def test_no_reminder_is_set_by_a_part_of_its_time(text: str) -> None:
    assert await called(text) == []


WHOLE = [
    ("매일 8시에 약 먹으라고 알려 줘", {"text": "약 먹으", "every": "day 08:00 or 20:00"}),
    ("월요일마다 8시에 쓰레기 버리라고 알려 줘", {"text": "쓰레기 버리", "every": "monday 08:00 or 20:00"}),
    ("평일 8시에 약 먹으라고 알려 줘", {"text": "약 먹으", "every": "weekday 08:00 or 20:00"}),
    ("平日の8時に薬をリマインドして", {"text": "薬", "every": "weekday 08:00 or 20:00"}),
    ("工作日八点提醒我吃药", {"text": "吃药", "every": "weekday 08:00 or 20:00"}),
    ("8시 10분에 전화하라고 알려 줘", {"text": "전화하", "at": "08:10 or 20:10"}),
    ("8時に前田さんに電話するのをリマインドして", {"text": "前田さんに電話", "at": "08:00 or 20:00"}),
    ("remind me at 8 to call before noon", {"text": "call before noon", "at": "08:00 or 20:00"}),
    ("remind me at 8 to call on Monday or Tuesday", {"text": "call on Monday or Tuesday", "at": "08:00 or 20:00"}),
    ("remind me at 8 to pay the monthly rent", {"text": "pay the monthly rent", "at": "08:00 or 20:00"}),
    ("erinnere mich um 8 vor der Arbeit an die Tablette", {"text": "vor der Arbeit an die Tablette", "at": "08:00 or 20:00"}),
    ("herinner me om 8 uur voor de vergadering", {"text": "voor de vergadering", "at": "08:00 or 20:00"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), WHOLE)
async def test_a_time_that_is_whole_is_set(text: str, wanted: dict[str, Any]) -> None:
    ((tool, arguments),) = await called(text)
    arguments.pop("language", None)
    assert (tool, arguments) == ("reminder_set", wanted)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("apaga la bomba de aquí a dos horas", "apaga la bomba"),
        ("spegni la pompa da qui a due ore", "spegni la pompa"),
        ("desliga a bomba de aqui a duas horas", "desliga a bomba"),
        ("éteins la pompe d'ici à deux heures", "éteins la pompe"),
    ],
)
async def test_from_now_on_is_no_time_of_day(text: str, order: str) -> None:
    ((tool, arguments),) = await called(text)
    arguments.pop("language")
    assert (tool, arguments) == ("timer_start", {"seconds": 7200, "order": order})
