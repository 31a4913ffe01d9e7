# ruff: noqa: E501  # one sentence a line
"""Timers, reminders and later orders in the languages that came after the first six."""

from typing import Any

import pytest

from agent.providers.offline.interpreter import understand
from agent.providers.offline.likeness import Likenesses
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import CallStep
from agent.providers.offline.toolbox import toolbox
from tests.providers.offline.spelled import SPELLED
from tests.providers.offline.timed_toolset import TIMED

BOX = toolbox(TIMED)

SENTENCES = [
    ("fr", "mets un minuteur de sept minutes", "timer_start", {"seconds": 420}),
    ("fr", "lance un minuteur de 90 secondes", "timer_start", {"seconds": 90}),
    ("fr", "mets un minuteur d'une heure et demie", "timer_start", {"seconds": 5400}),
    ("fr", "mets un minuteur thé de 4 minutes", "timer_start", {"seconds": 240, "name": "thé"}),
    ("fr", "combien de temps reste-t-il au minuteur ?", "timer_list", {}),
    ("fr", "annule le minuteur", "timer_cancel", {}),
    ("fr", "annule tous les minuteurs", "timer_cancel", {"all": True}),
    ("fr", "mets en pause le minuteur", "timer_change", {"state": "paused"}),
    ("fr", "reprends le minuteur", "timer_change", {"state": "running"}),
    ("fr", "ajoute deux minutes au minuteur", "timer_change", {"add_seconds": 120}),
    ("fr", "enlève 30 secondes au minuteur", "timer_change", {"add_seconds": -30}),
    ("fr", "rappelle-moi dans 10 minutes de sortir le pain", "reminder_set", {"text": "sortir le pain"}),
    ("it", "imposta un timer di sette minuti", "timer_start", {"seconds": 420}),
    ("it", "avvia un timer di 90 secondi", "timer_start", {"seconds": 90}),
    ("it", "metti un timer di un'ora e mezza", "timer_start", {"seconds": 5400}),
    ("it", "metti un timer pasta di 9 minuti", "timer_start", {"seconds": 540, "name": "pasta"}),
    ("it", "quanto manca al timer?", "timer_list", {}),
    ("it", "annulla il timer", "timer_cancel", {}),
    ("it", "annulla tutti i timer", "timer_cancel", {"all": True}),
    ("it", "metti in pausa il timer", "timer_change", {"state": "paused"}),
    ("it", "riprendi il timer", "timer_change", {"state": "running"}),
    ("it", "aggiungi due minuti al timer", "timer_change", {"add_seconds": 120}),
    ("it", "togli 30 secondi dal timer", "timer_change", {"add_seconds": -30}),
    ("it", "ricordami fra 10 minuti di girare la torta", "reminder_set", {"text": "girare la torta"}),
    ("pt", "põe um temporizador de sete minutos", "timer_start", {"seconds": 420}),
    ("pt", "inicia um temporizador de 90 segundos", "timer_start", {"seconds": 90}),
    ("pt", "põe um temporizador de uma hora e meia", "timer_start", {"seconds": 5400}),
    ("pt", "cria um temporizador chamado arroz de 12 minutos", "timer_start", {"seconds": 720, "name": "arroz"}),
    ("pt", "quanto tempo falta no temporizador?", "timer_list", {}),
    ("pt", "cancela o temporizador", "timer_cancel", {}),
    ("pt", "cancela todos os temporizadores", "timer_cancel", {"all": True}),
    ("pt", "pausa o temporizador", "timer_change", {"state": "paused"}),
    ("pt", "retoma o temporizador", "timer_change", {"state": "running"}),
    ("pt", "adiciona dois minutos ao temporizador", "timer_change", {"add_seconds": 120}),
    ("pt", "retira 30 segundos do temporizador", "timer_change", {"add_seconds": -30}),
    ("pt", "lembra-me daqui a 10 minutos de regar a horta", "reminder_set", {"text": "regar a horta"}),
    ("nl", "zet een timer van zeven minuten", "timer_start", {"seconds": 420}),
    ("nl", "start een timer van 90 seconden", "timer_start", {"seconds": 90}),
    ("nl", "zet een timer van een half uur", "timer_start", {"seconds": 1800}),
    ("nl", "zet een pastatimer van 9 minuten", "timer_start", {"seconds": 540, "name": "pasta"}),
    ("nl", "hoeveel tijd heeft de timer nog?", "timer_list", {}),
    ("nl", "annuleer de timer", "timer_cancel", {}),
    ("nl", "annuleer alle timers", "timer_cancel", {"all": True}),
    ("nl", "pauzeer de timer", "timer_change", {"state": "paused"}),
    ("nl", "hervat de timer", "timer_change", {"state": "running"}),
    ("nl", "voeg twee minuten toe aan de timer", "timer_change", {"add_seconds": 120}),
    ("nl", "haal 30 seconden van de timer af", "timer_change", {"add_seconds": -30}),
    ("nl", "herinner me over 10 minuten eraan de was op te hangen", "reminder_set", {"text": "de was op te hangen"}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "tool", "wanted"), SENTENCES)
async def test_a_sentence_about_time_is_understood(
    code: str, text: str, tool: str, wanted: dict[str, Any]
) -> None:
    analysis = analyse(text, code, BOX.names)
    step = (await understand(analysis, BOX, [], None, Likenesses(None))).step
    assert isinstance(step, CallStep), step
    (order,) = step.orders
    assert order.tool == tool
    assert wanted.items() <= dict(order.arguments).items(), order
    assert set(order.arguments) - set(wanted) <= {
        "language",
        "after",
        "when",
        "seconds",
        "in_seconds",
    }


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("fr", "arrête toutes les pendules de ma voisine"),
        ("it", "annulla tutti gli appuntamenti"),
        ("pt", "cancela todas as reuniões"),
        ("nl", "annuleer alle afspraken"),
    ],
)
async def test_what_is_no_timer_is_left_alone(code: str, text: str) -> None:
    analysis = analyse(text, code, BOX.names)
    step = (await understand(analysis, BOX, [], None, Likenesses(None))).step
    assert not isinstance(step, CallStep), step


_MINUTES = {
    "fr": "mets un minuteur de {} minutes",
    "it": "imposta un timer di {} minuti",
    "pt": "põe um temporizador de {} minutos",
    "nl": "zet een timer van {} minuten",
}


@pytest.mark.parametrize("code", list(_MINUTES))
async def test_every_number_of_minutes_is_read_whole(code: str) -> None:
    for number in range(2, 101):
        text = _MINUTES[code].format(SPELLED[code](number))
        step = (
            await understand(analyse(text, code, BOX.names), BOX, [], None, Likenesses(None))
        ).step
        assert isinstance(step, CallStep), text
        assert step.orders[0].arguments["seconds"] == 60 * number, text
