"""Orders and questions about a house in the languages that came after the first six."""

from functools import cache

import msgspec
import pytest

from agent.link.manifest import BoardPin
from agent.providers.offline.interpreter import understand
from agent.providers.offline.likeness import Likenesses
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import CallStep, Step
from agent.providers.offline.toolbox import Toolbox, toolbox
from agent.system.clock import SystemClock
from agent.tools.board import BoardTools
from agent.tools.system import TimeNowTool
from tests.fakes.board import FakeBoard

VALVE, LOCK, LAMP = "valve", "lock", "lamp"
PINS = {
    VALVE: ("vanne", "valvola", "válvula", "klep"),
    LOCK: ("serrure", "serratura", "fechadura", "slot"),
    LAMP: ("lampe", "lampada", "lâmpada", "lamp"),
}


@cache
def house() -> Toolbox:
    """Made by the first test: to learn its words takes seconds of whoever only collects."""
    board = FakeBoard()
    assert board.manifest is not None
    pins = tuple(
        BoardPin(index, name, f"PB{index}", aliases, ("in", "out"))
        for index, (name, aliases) in enumerate(PINS.items())
    )
    board.learn(msgspec.structs.replace(board.manifest, pins=pins))
    tools = (*BoardTools(board).tools(), TimeNowTool(SystemClock()))
    return toolbox([tool.spec() for tool in tools])


async def understood(code: str, text: str) -> Step | None:
    box = house()
    return (await understand(analyse(text, code, box.names), box, [], None, Likenesses(None))).step


ORDERS = [
    (
        (VALVE, "on", 0),
        ("Ouvre la vanne", "Tu peux ouvrir la vanne ?"),
        ("Apri la valvola", "Puoi aprire la valvola?"),
        ("Abre a válvula", "Podes abrir a válvula?"),
        ("Open de klep", "Kun je de klep openen?"),
    ),
    (
        (VALVE, "off", 0),
        ("Ferme la vanne",),
        ("Chiudi la valvola",),
        ("Fecha a válvula",),
        ("Sluit de klep", "Doe de klep dicht"),
    ),
    (
        (LOCK, "off", 0),
        ("Verrouille la serrure",),
        ("Blocca la serratura",),
        ("Tranca a fechadura",),
        ("Vergrendel het slot",),
    ),
    (
        (LOCK, "on", 0),
        ("Déverrouille la serrure",),
        ("Sblocca la serratura",),
        ("Destranca a fechadura",),
        ("Ontgrendel het slot",),
    ),
    (
        (LAMP, "on", 10),
        ("Allume la lampe pendant dix secondes",),
        ("Accendi la lampada per dieci secondi",),
        ("Acende a lâmpada durante dez segundos",),
        ("Zet de lamp tien seconden lang aan", "Zet de lamp voor tien seconden aan"),
    ),
]
QUESTIONS = [
    ("fr", "La vanne est-elle ouverte ?", VALVE),
    ("fr", "Est-ce que la lampe est allumée ?", LAMP),
    ("fr", "La serrure est-elle verrouillée ?", LOCK),
    ("it", "La valvola è aperta?", VALVE),
    ("it", "La lampada è accesa?", LAMP),
    ("it", "La serratura è bloccata?", LOCK),
    ("pt", "A válvula está aberta?", VALVE),
    ("pt", "A lâmpada está acesa?", LAMP),
    ("pt", "A fechadura está trancada?", LOCK),
    ("nl", "Is de klep open?", VALVE),
    ("nl", "Is de lamp aan?", LAMP),
    ("nl", "Is het slot vergrendeld?", LOCK),
]
NOT_DONE = [
    ("fr", "N'ouvre pas la vanne"),
    ("fr", "Ouvre la vanne du voisin"),
    ("fr", "Si j'ouvre la vanne, que se passe-t-il ?"),
    ("it", "Non aprire la valvola"),
    ("it", "Apri la valvola del vicino"),
    ("it", "Se apro la valvola cosa succede?"),
    ("pt", "Não abras a válvula"),
    ("pt", "Abre a válvula do vizinho"),
    ("pt", "Se eu abrir a válvula, o que acontece?"),
    ("nl", "Open de klep niet"),
    ("nl", "Open de klep van de buurman"),
    ("nl", "Wat gebeurt er als ik de klep open?"),
]


@pytest.mark.parametrize(
    ("code", "text", "wanted"),
    [
        (code, text, wanted)
        for wanted, *languages in ORDERS
        for code, texts in zip(("fr", "it", "pt", "nl"), languages, strict=True)
        for text in texts
    ],
)
async def test_an_output_is_opened_locked_and_held(
    code: str, text: str, wanted: tuple[str, str, float]
) -> None:
    step = await understood(code, text)
    assert isinstance(step, CallStep), step
    (order,) = step.orders
    told = order.arguments
    assert order.tool == "board_gpio_write"
    assert (told["pin"], told["value"], told.get("for_seconds", 0)) == wanted


@pytest.mark.parametrize(("code", "text", "pin"), QUESTIONS)
async def test_a_question_is_looked_up_and_moves_nothing(code: str, text: str, pin: str) -> None:
    step = await understood(code, text)
    assert isinstance(step, CallStep), step
    assert [(one.tool, dict(one.arguments)) for one in step.orders] == [
        ("board_gpio_read", {"pin": pin})
    ]


@pytest.mark.parametrize(("code", "text"), NOT_DONE)
async def test_what_is_no_plain_order_moves_nothing(code: str, text: str) -> None:
    assert not isinstance(await understood(code, text), CallStep)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("fr", "Éteins tout"),
        ("it", "Spegni tutto"),
        ("pt", "Desliga tudo"),
        ("nl", "Zet alles uit"),
    ],
)
async def test_everything_is_switched_off(code: str, text: str) -> None:
    step = await understood(code, text)
    assert isinstance(step, CallStep), step
    assert {(one.arguments["pin"], one.arguments["value"]) for one in step.orders} == {
        (name, "off") for name in PINS
    }
