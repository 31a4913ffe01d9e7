"""Questions about the past of sensors and outputs, in every language."""

from typing import Any

import pytest

from agent.messages import ToolSpec
from agent.tools.readings import ReadingsQueryTool
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.toolset import RICH

SPEC: ToolSpec = ReadingsQueryTool.__new__(ReadingsQueryTool).spec()
TOOLS = (*RICH, SPEC)
NIGHT: dict[str, Any] = {
    "reading": "climate.temperature",
    "unit": "°C",
    "from": "2026-05-01 22:00+00:00",
    "to": "2026-05-02 06:00+00:00",
    "lowest": {"value": 11.5, "at": "2026-05-02 04:10+00:00"},
    "mean": 13.2,
    "highest": {"value": 15.0, "at": "2026-05-01 22:00+00:00"},
}


PARTLY_EN = "The server with older readings does not answer: only what is still here is counted."
PARTLY_DE = (
    "Der Server mit den älteren Messwerten antwortet nicht: Gezählt ist nur, was noch hier ist."
)
RANGE = (
    "The temperature: from 11.5 °C (at 2026-05-02 04:10) to 15 °C (at 2026-05-01 22:00), "
    "13.2 °C on average."
)


@pytest.mark.parametrize(
    ("said", "reading", "period", "only"),
    [
        ("how warm was it last night?", "temperature", "night", ""),
        ("highest humidity this week?", "humidity", "week", "highest"),
        ("how long was the pump on today?", "pump", "today", "on_s"),
        ("how often was the pump on yesterday?", "pump", "yesterday", "times_on"),
        ("Wann war es am kältesten?", "temperature", "day", "lowest"),
        ("Wie lange war die Pumpe heute an?", "pump", "today", "on_s"),
        ("Wie warm war es letzte Nacht?", "temperature", "night", ""),
        ("höchste Luftfeuchtigkeit diese Woche?", "humidity", "week", "highest"),
        ("昨晚多少度？", "temperature", "night", ""),
        ("今天水泵开了多久？", "pump", "today", "on_s"),
        ("本周最高湿度是多少？", "climate.humidity", "week", "highest"),
        ("昨夜の温度は？", "temperature", "night", ""),
        ("今週の最高湿度は？", "humidity", "week", "highest"),
        ("今日ポンプはどのくらいオンでしたか？", "pump", "today", "on_s"),
        ("어젯밤 온도는 몇 도였어?", "temperature", "night", ""),
        ("이번 주 최고 습도는?", "humidity", "week", "highest"),
        ("오늘 펌프가 얼마나 오래 켜져 있었어?", "pump", "today", "on_s"),
        ("¿Qué temperatura hizo anoche?", "temperature", "night", ""),
        ("¿Cuánto tiempo estuvo encendida la bomba hoy?", "pump", "today", "on_s"),
        ("¿Cuál fue la humedad máxima esta semana?", "moisture", "week", "highest"),
        ("Quelle était la température cette nuit ?", "temperature", "night", ""),
        ("Com'era la temperatura ieri notte?", "temperature", "night", ""),
        ("Qual foi a temperatura ontem?", "temperature", "yesterday", ""),
        ("Hoe warm was het vannacht?", "temperature", "night", ""),
    ],
)
async def test_a_question_about_the_past_becomes_a_query(
    said: str, reading: str, period: str, only: str
) -> None:
    wanted = f"readings_query reading={reading} period={period}"
    assert outcome(await Talk(TOOLS).say(said)) == wanted + (f" only={only}" if only else "")


@pytest.mark.parametrize(
    "said",
    [
        "what is the temperature?",
        "how warm is it today?",
        "turn the pump on",
        "turn the pump on for ten minutes today",
        "tell me when the humidity is over 70 %",
        "Mach die Pumpe heute an",
        "关掉水泵",
        "set a timer for 10 minutes",
        "the pump was not on yesterday",
    ],
)
async def test_whatever_else_is_said_queries_nothing(said: str) -> None:
    assert "readings_query" not in outcome(await Talk(TOOLS).say(said))


@pytest.mark.parametrize(
    ("said", "result", "told"),
    [
        (
            "how warm was it last night?",
            NIGHT,
            RANGE,
        ),
        (
            "how long was the pump on today?",
            {"reading": "pump", "from": "a", "to": "b", "on_s": 5400},
            "The pump: on for 1 h 30 min.",
        ),
        (
            "how warm was it last night?",
            {"reading": "climate.temperature", "from": "a", "to": "b", "values": 0},
            "The temperature: nothing was recorded in that time.",
        ),
        (
            "how long was the pump on today?",
            {"reading": "pump", "from": "a", "to": "b", "on_s": 5400, "missing": "a server"},
            f"The pump: on for 1 h 30 min. {PARTLY_EN}",
        ),
        (
            "Wie lange war die Pumpe heute an?",
            {"reading": "pump", "from": "a", "to": "b", "on_s": 5400, "missing": "a server"},
            f"Die Pumpe: 1 h 30 min an. {PARTLY_DE}",
        ),
    ],
)
async def test_the_answer_is_told_in_words(said: str, result: dict[str, Any], told: str) -> None:
    answer = await Talk(TOOLS, {"readings_query": result}).ask(said)
    assert answer.casefold() == told.casefold()
