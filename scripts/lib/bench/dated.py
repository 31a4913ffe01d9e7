"""Questions for relative and named times: what was said or done then is found first."""

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent.memory.base import Scope
from agent.messages import Provenance
from scripts.lib.bench.brains import LOCAL, BenchBrain
from scripts.lib.bench.table import Row
from scripts.lib.bench.truths import Counted

OWNER = Scope("owner")
BAR = 90.0
# A Wednesday at noon; days are counted back from it
_NOW = datetime(2026, 7, 15, 12, tzinfo=UTC)
_DAYS_KEPT = 75
# What is done each day; no question names it
_DONE = (
    "washed the car",
    "baked bread",
    "mowed the lawn",
    "saw a film",
    "fixed the tap",
    "ran far",
)
# Days back that are right, in the order of the phrases of each language
_RIGHT = (
    range(1, 2),
    range(2, 3),
    range(1),
    range(3, 10),
    range(15, 45),
    range(3, 4),
    range(11, 18),
    range(3, 5),
    range(2, 3),
    range(5, 6),
)
_PHRASES = {
    "en": "yesterday|the day before yesterday|today|last week|last month|three days ago"
    "|two weeks ago|last weekend|on Monday|on Friday",
    "de": "gestern|vorgestern|heute|letzte Woche|letzten Monat|vor drei Tagen|vor zwei Wochen"
    "|letztes Wochenende|am Montag|am Freitag",
    "es": "ayer|anteayer|hoy|la semana pasada|el mes pasado|hace tres días|hace dos semanas"
    "|el fin de semana pasado|el lunes|el viernes",
    "fr": "hier|avant-hier|aujourd'hui|la semaine dernière|le mois dernier|il y a trois jours"
    "|il y a deux semaines|le week-end dernier|lundi|vendredi",
    "zh": "昨天|前天|今天|上周|上个月|三天前|两周前|上个周末|星期一|星期五",
    "ja": "昨日|一昨日|今日|先週|先月|三日前|二週間前|先週末|月曜日|金曜日",
}
_QUESTIONS = {
    "en": ("what did I do {t}?", "{t}, what happened?"),
    "de": ("was habe ich {t} gemacht?", "{t}: was ist passiert?"),
    "es": ("¿qué hice {t}?", "{t}, ¿qué pasó?"),
    "fr": ("qu'est-ce que j'ai fait {t} ?", "{t}, que s'est-il passé ?"),
    "zh": ("{t}我做了什么？", "{t}发生了什么？"),
    "ja": ("{t}は何をしましたか？", "{t}に何がありましたか？"),
}


class _Calendar:
    """The clock of the diary."""

    def __init__(self) -> None:
        self.now = _NOW

    def wall_s(self) -> float:
        return self.now.timestamp()

    def monotonic_s(self) -> float:
        return self.wall_s()

    async def sleep(self, duration_s: float) -> None:
        raise NotImplementedError("nothing waits here")


def measure(brain: BenchBrain = LOCAL) -> Row:
    """The row of 120 questions."""
    counted = asyncio.run(_counted(brain))
    return Row(
        f"relative and named times, {counted.of} questions in six languages",
        f">= {BAR:g} % right first",
        f"{counted.share:.1f} % ({counted.text()})",
        f"a diary of {_DAYS_KEPT} days, words only",
        counted.share >= BAR,
    )


async def _counted(brain: BenchBrain) -> Counted:
    counted, clock = Counted(), _Calendar()
    with tempfile.TemporaryDirectory(prefix="barnacle-bench-") as folder:
        memory = brain.open(Path(folder), clock)
        for back in reversed(range(_DAYS_KEPT)):
            clock.now = _NOW - timedelta(days=back, hours=1)
            done = f"I {_DONE[back % len(_DONE)]}, entry {back}"
            await memory.store(f"{back}", done, scope=OWNER, provenance=Provenance.OWNER)
        clock.now = _NOW
        for code, phrases in _PHRASES.items():
            for phrase, right in zip(phrases.split("|"), _RIGHT, strict=True):
                for wording in _QUESTIONS[code]:
                    question = wording.format(t=phrase)
                    found = await memory.recall(question, 1, OWNER)
                    is_right = bool(found) and int(found[0].key) in right
                    counted.count(question, is_right=is_right)
        await memory.aclose()
    return counted
