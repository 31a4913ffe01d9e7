# ruff: noqa: E501  # one sentence a line
from typing import Any

import pytest

from agent.messages import ChatMessage, ToolCall, ToolSpec
from agent.providers.base import ChatRequest, ChatResponse
from agent.providers.offline.conversation import table_of
from agent.providers.offline.provider import OfflineProvider
from agent.providers.offline.time_phrases import TimeKind, time_phrase_of
from tests.fakes.said import assistant_said, tool_said, user_said
from tests.providers.offline.timed_toolset import TIMED
from tests.providers.offline.toolset import HEATER, MEMORY_STORE

PROVIDER = OfflineProvider()


async def answered(*said: ChatMessage, tools: Any = TIMED) -> ChatResponse:
    return await PROVIDER.chat(ChatRequest(said, tools))


async def called(text: str, tools: Any = TIMED) -> list[tuple[str, dict[str, Any]]]:
    import json  # noqa: PLC0415 - beside its one use

    response = await answered(user_said(text), tools=tools)
    return [(call.name, json.loads(call.arguments_json)) for call in response.tool_calls]


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("turn on the relay for 8 seconds", "board_gpio_write", {"pin": "relay", "value": "on", "for_seconds": 8}),
        ("switch the pump on for a minute and a half", "board_gpio_write", {"pin": "pump", "value": "on", "for_seconds": 90}),
        ("in twenty minutes turn the relay off", "timer_start", {"seconds": 1200, "order": "turn the relay off"}),
        ("can you turn off the pump in an hour?", "timer_start", {"seconds": 3600, "order": "can you turn off the pump?"}),
        ("turn on the pump every evening at nine", "reminder_set", {"order": "turn on the pump", "every": "day 21:00"}),
        ("tomorrow at 6:15 am turn on the pump for 8 seconds", "reminder_set", {"order": "turn on the pump for 8 seconds", "at": "tomorrow 06:15"}),
        ("remind me in 20 minutes to turn the roast", "reminder_set", {"text": "turn the roast", "in_seconds": 1200}),
        ("remind me every friday at 6 pm about the bins", "reminder_set", {"text": "the bins", "every": "friday 18:00"}),
        ("schalte das Relais acht Sekunden lang ein", "board_gpio_write", {"pin": "relay", "value": "on", "for_seconds": 8}),
        ("schalte in zwanzig Minuten die Pumpe aus", "timer_start", {"seconds": 1200, "order": "schalte die Pumpe aus", "language": "de"}),
        ("erinnere mich morgen um 24 Uhr an den Müll", "reminder_set", {"text": "den Müll", "at": "+2 00:00", "language": "de"}),
        ("turn on the pump every friday at 24:00", "reminder_set", {"order": "turn on the pump", "every": "saturday 00:00"}),
        ("turn on the pump today at 24:00", "reminder_set", {"order": "turn on the pump", "at": "tomorrow 00:00"}),
        ("turn on the pump at 24:00", "reminder_set", {"order": "turn on the pump", "at": "00:00"}),
        ("erinnere mich um halb neun daran, den Braten zu wenden", "reminder_set", {"text": "den Braten zu wenden", "at": "08:30 or 20:30", "language": "de"}),
        ("schalte die Pumpe 1.000 Sekunden lang ein", "board_gpio_write", {"pin": "pump", "value": "on", "for_seconds": 1000}),
        ("enciende la bomba durante ocho segundos", "board_gpio_write", {"pin": "pump", "value": "on", "for_seconds": 8}),
        ("recuérdame mañana a las 9 de la mañana llamar a Ana", "reminder_set", {"text": "llamar a Ana", "at": "tomorrow 09:00", "language": "es"}),
        ("打开水泵八秒", "board_gpio_write", {"pin": "pump", "value": "on", "for_seconds": 8}),
        ("二十分钟后关闭水泵", "timer_start", {"seconds": 1200, "order": "关闭水泵", "language": "zh"}),
        ("每天晚上九点提醒我吃药", "reminder_set", {"text": "吃药", "every": "day 21:00", "language": "zh"}),
        ("ポンプを8秒間つけて", "board_gpio_write", {"pin": "pump", "value": "on", "for_seconds": 8}),
        ("20分後にポンプを消して", "timer_start", {"seconds": 1200, "order": "ポンプを消して", "language": "ja"}),
        ("펌프를 8초 동안 켜 줘", "board_gpio_write", {"pin": "pump", "value": "on", "for_seconds": 8}),
        ("20분 후에 펌프 꺼", "timer_start", {"seconds": 1200, "order": "펌프 꺼", "language": "ko"}),
    ],
)  # fmt: skip
async def test_an_order_is_done_for_after_or_at_a_time(
    text: str, tool: str, arguments: dict[str, Any]
) -> None:
    assert await called(text) == [(tool, arguments)]


@pytest.mark.parametrize(
    "text",
    [
        "remind me on december 24 at 8 am to buy presents",
        "remind me at 8 am on december 24 to buy presents",
        "on december 24 at 8 am remind me to buy presents",
        "remind me on the 3rd at 8 am to pay the rent",
        "remind me every monday and thursday at 8 to water the plants",
        "remind me every other day at 8 to water the plants",
        "remind me every two days at 8 to water the plants",
        "erinnere mich am 24. Dezember um 8 Uhr an die Geschenke",
        "erinnere mich jeden Montag und Donnerstag um 8 Uhr an den Müll",
        "erinnere mich alle zwei Tage um 8 Uhr an den Müll",
        "rappelle-moi le 24 décembre à 8 heures d'acheter des cadeaux",
        "recuérdame el 24 de diciembre a las 8 comprar regalos",
        "ricordami il 24 dicembre alle 8 di comprare i regali",
        "lembra-me no dia 24 de dezembro às 8 de comprar presentes",
        "12月24日早上八点提醒我买礼物",
        "herinner me op 24 december om 8 uur aan de cadeaus",
        "herinner me de 3e om 8 uur aan de huur",
        "rappelle-moi le 3e à 8 heures de payer",
        "12月24日の8時にプレゼントを買うようにリマインドして",
        "十二月二十四日の8時にプレゼントを買うようにリマインドして",
        "12월 24일 8시에 선물 사라고 알려 줘",
        "remind me next friday at 8 am about the bins",
        "remind me at 8 am next friday about the bins",
        "remind me at 8 am on friday next week about the bins",
        "erinnere mich nächsten Freitag um 8 Uhr an den Müll",
        "rappelle-moi vendredi prochain à 8 heures de sortir les poubelles",
        "recuérdame el próximo viernes a las 8 sacar la basura",
        "ricordami venerdì prossimo alle 8 di portare fuori i rifiuti",
        "lembra-me na próxima sexta às 8 de tirar o lixo",
        "herinner me volgende vrijdag om 8 uur aan de huur",
        "下周五早上八点提醒我倒垃圾",
        "来週の金曜日の8時に薬を飲むようにリマインドして",
        "다음 주 금요일 8시에 약 먹으라고 알려 줘",
        "remind me on the weekend to call mom",
        "turn on the pump next friday at 8",
        "turn on the pump on december 24 at 8",
        "schalte am Wochenende um 8 die Pumpe ein",
    ],
)
async def test_no_reminder_is_set_by_half_of_its_time(text: str) -> None:
    assert await called(text) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("remind me to take 2 pills at 8 am", "take 2 pills"),
        ("remind me tomorrow at 8 about the next meeting", "the next meeting"),
        ("erinnere mich um 8 an das nächste Treffen", "das nächste Treffen"),
        ("remind me on weekends to call mom", "call mom"),
        ("remind me to call June at 8", "call June"),
        ("erinnere mich daran, August anzurufen um 8", "August anzurufen"),
        (
            "remind me tomorrow to buy milk for 5 people and bread",
            "buy milk for 5 people and bread",
        ),
        ("at 8 remind me to call every customer", "call every customer"),
        ("erinnere mich um 8 an die 2 Pillen", "die 2 Pillen"),
        ("8点提醒我吃2片药", "吃2片药"),
        ("薬を2錠飲むように8時にリマインドして", "薬を2錠飲む"),
        ("8시에 약 2알 먹으라고 알려 줘", "약 2알 먹으"),
    ],
)
async def test_numbers_in_the_text_of_a_reminder_are_its_own(text: str, kept: str) -> None:
    ((tool, arguments),) = await called(text)
    assert (tool, arguments["text"]) == ("reminder_set", kept)


@pytest.mark.parametrize(
    "text",
    [
        "don't turn on the pump in 5 minutes",
        "if it rains turn on the pump in 5 minutes",
        "is the pump off in 5 minutes?",
        "I said turn on the pump in 5 minutes",
        "turn on the pump on monday",
        "turn it on in five minutes",
        "sing a song in 5 minutes",
        "remind me to turn the roast",
        "turn on the pomp for 8 seconds",
        "wait until noon and then turn on the pump",
        "schalte die Pumpe nicht in 5 Minuten ein",
        "la pompe a 2 vannes",
        "il a allume la pompe a 8h",
        "allume la pompe qui a 2 vannes",
    ],
)
async def test_what_is_no_plain_order_is_not_done_at_any_time(text: str) -> None:
    assert [name for name, _ in await called(text) if name != "board_gpio_read"] == []


async def test_what_is_not_known_yet_is_said_with_the_order_that_is_kept() -> None:
    asked = user_said("in twenty minutes turn off the heater")
    response = await answered(asked)
    (call,) = response.tool_calls
    assert call.name == "timer_start"
    result = '{"started": {"seconds": 1200, "left_seconds": 1200, "order": "turn off the heater"}}'
    told = await answered(asked, *came_of(call, result))
    assert told.text == ("In 20 min I will do this: turn off the heater I do not know “heater”.")


async def test_an_end_at_a_time_is_counted_from_now() -> None:
    asked = user_said("turn on the pump until half past nine")
    (look,) = (await answered(asked)).tool_calls
    assert look.name == "time_now"
    now = '{"time": "2026-11-22T20:00:30+01:00", "weekday": "Sunday", "timezone": "CET"}'
    (switch,) = (await answered(asked, *came_of(look, now))).tool_calls
    assert switch.name == "board_gpio_write"
    assert '"for_seconds":5370' in switch.arguments_json
    result = '{"pin": "pump", "value": "on", "for_seconds": 5370, "then": "off"}'
    told = await answered(asked, *came_of(look, now), *came_of(switch, result))
    assert told.text == "The pump is on for 1 h 29 min 30 s, then off."


async def test_a_clock_that_tells_nothing_ends_nothing() -> None:
    asked = user_said("turn on the pump until half past nine")
    (look,) = (await answered(asked)).tool_calls
    told = await answered(asked, *came_of(look, '{"time": "soon"}'))
    assert told.tool_calls == ()
    assert "I did nothing" in told.text


async def test_a_question_names_the_time_too() -> None:
    response = await answered(user_said("maybe turn on the pump for 8 seconds"))
    assert response.tool_calls == ()
    assert "for 8 s" in response.text


async def test_a_tool_that_knows_no_end_is_not_used_for_a_time() -> None:
    tools = [_without_end(spec) for spec in TIMED]
    response = await answered(user_said("turn on the pump for 8 seconds"), tools=tools)
    assert response.tool_calls == ()


def came_of(call: ToolCall, result: str) -> tuple[ChatMessage, ChatMessage]:
    return assistant_said("", (call,)), tool_said(call, result)


def _without_end(spec: ToolSpec) -> ToolSpec:
    properties = dict(spec.parameters.get("properties", {}))
    properties.pop("for_seconds", None)
    parameters = {**spec.parameters, "properties": properties}
    return ToolSpec(spec.name, spec.about, parameters, spec.effect)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("fr", "mets le ventilateur à vingt pour cent"),
        ("fr", "mets le ventilateur à quatre-vingt-dix-neuf pour cent"),
        ("es", "pon el ventilador a las veinte por ciento"),
        ("it", "metti il ventilatore alle venti per cento"),
        ("pt", "põe o ventilador às vinte por cento"),
        ("nl", "zet de ventilator om twintig procent"),
    ],
)
def test_a_share_is_no_time_of_day(code: str, text: str) -> None:
    assert time_phrase_of(text, code, TimeKind.AT) is None


@pytest.mark.parametrize(
    "text",
    [
        "turn on the pump from 8 to 9",
        "turn on the pump from 8 to 9 pm",
        "turn on the pump from ten to eight",
        "turn on the pump for 1:30",
    ],
)
async def test_neither_a_range_nor_a_length_is_a_time_to_begin_at(text: str) -> None:
    assert await called(text) == []


async def test_no_reminder_comes_a_few_minutes_before_the_end_of_a_range() -> None:
    assert await called("remind me from 8 to 9 to drink") == []


WITHIN = [
    ("turn the pump off within two hours", "en"),
    ("schalte die Pumpe innerhalb von zwei Stunden aus", "de"),
    ("schalte die Pumpe binnen zwei Stunden aus", "de"),
    ("apaga la bomba en menos de dos horas", "es"),
    ("éteins la pompe dans les deux heures", "fr"),
    ("spegni la pompa entro due ore", "it"),
    ("desliga a bomba em menos de duas horas", "pt"),
    ("zet de pomp binnen twee uur uit", "nl"),
    ("两小时内关水泵", "zh"),
    ("两小时之内关水泵", "zh"),
    ("2時間以内にポンプを消して", "ja"),
    ("두 시간 안에 펌프 꺼", "ko"),
    ("두 시간 이내에 펌프 꺼", "ko"),
]


@pytest.mark.parametrize(("text", "code"), WITHIN)
async def test_within_a_time_is_no_length_and_no_time_of_day(text: str, code: str) -> None:
    ((tool, arguments),) = await called(text)
    assert (tool, arguments["seconds"]) == ("timer_start", 7200)
    assert arguments.get("language", "en") == code


LENGTHS = [
    "zet de pomp 2 uur aan",
    "zet de pomp voor 2 uur aan",
    "allume la pompe 2 heures",
    "enciende la bomba 2 horas",
    "accendi la pompa due ore",
    "liga a bomba 2 horas",
]


@pytest.mark.parametrize("text", LENGTHS)
async def test_hours_without_a_word_for_times_are_asked_about(text: str) -> None:
    asked = await answered(user_said(text))
    assert not asked.tool_calls
    assert "2 h" in asked.text or "2 u" in asked.text
    yes = {"z": "ja", "a": "oui", "e": "sí", "l": "sim"}[text[0]]
    said = (
        user_said(text),
        assistant_said(asked.text, ()),
        user_said("sì" if "due" in text else yes),
    )
    (call,) = (await answered(*said)).tool_calls
    assert table_of(call.arguments_json) == {"pin": "pump", "value": "on", "for_seconds": 7200}


@pytest.mark.parametrize("text", ["zet de pomp na 8 uur aan", "herinner me na 8 uur aan de kat"])
async def test_after_eight_hours_or_eight_o_clock_is_not_guessed(text: str) -> None:
    assert await called(text) == []


CLOCKS = [
    ("zet de pomp om 2 uur aan", "02:00 or 14:00"),
    ("zet de pomp morgen 8 uur aan", "tomorrow 08:00 or 20:00"),
    ("allume la pompe à 2 heures", "02:00 or 14:00"),
    ("enciende la bomba a las 2 horas", "02:00 or 14:00"),
    ("schalte die Pumpe 8 Uhr ein", "08:00 or 20:00"),
    ("allume la pompe à 21", "21:00"),
    ("allume la pompe a 21h15", "21:15"),
    ("allume la pompe a sept heures et demie", "07:30 or 19:30"),
    ("turn the pump on at 21", "21:00"),
]


@pytest.mark.parametrize(("text", "at"), CLOCKS)
async def test_hours_of_a_day_stay_times(text: str, at: str) -> None:
    ((tool, arguments),) = await called(text)
    assert (tool, arguments["at"]) == ("reminder_set", at)


LEVELS = [
    "mets le chauffage à 21",
    "metti il riscaldamento a 21",
    "pon la calefacción a 21",
    "set the heater at 21",
]


@pytest.mark.parametrize("text", LEVELS)
async def test_a_number_that_an_order_needs_is_no_time(text: str) -> None:
    assert await called(text, [*TIMED, HEATER]) == [("board_heater_set", {"temperature": 21})]


@pytest.mark.parametrize(
    "text", ["turn the heater on at 7", "allume le chauffage à 7", "mets le chauffage à 7 heures"]
)
async def test_a_time_at_which_something_is_switched_is_no_level(text: str) -> None:
    assert await called(text, [*TIMED, HEATER]) == []


@pytest.mark.parametrize(
    "text",
    [
        "lembra-me de tomar o remédio antes das 8",
        "ricordami di chiamare Mei prima delle 8",
        "remind me to call Mei before 8",
        "erinnere mich um 8 an den Termin von gestern",
    ],
)
async def test_a_reminder_with_an_unclear_time_asks_when_and_is_no_memory(text: str) -> None:
    response = await answered(user_said(text), tools=[*TIMED, MEMORY_STORE])
    assert not response.tool_calls
    assert response.text.endswith((".", "?"))
    assert "10" in response.text
