import pytest

from agent.providers.offline.pieces import analyse
from agent.providers.offline.statements import statements_of, taken_back
from tests.providers.offline.talk import Talk, outcome

CORRECTED = [
    "turn on the pump, sorry, the light",
    "turn on the pump, sorry the light",
    "turn on the pump, excuse me, turn on the light",
    "turn on the pump, actually the light",
    "turn on the pump, or rather the light",
    "turn on the pump, rather, the light",
    "turn on the pump, the light instead",
    "turn on the pump, well, the light",
    "turn on the pump, ok, the light",
    "schalte die Pumpe ein, Entschuldigung, schalte das Licht ein",
    "schalte die Pumpe ein, stattdessen das Licht ein",
    "schalte die Pumpe ein, eigentlich das Licht ein",
    "enciende la bomba, perdón, la luz",
    "enciende la bomba, perdón, apaga la bomba",
    "enciende la bomba, más bien la luz",
    "allume la pompe, pardon, la lumière",
    "allume la pompe, plutôt la lumière",
    "accendi la pompa, scusa, la luce",
    "liga a bomba, desculpa, a luz",
    "zet de pomp aan, sorry, het licht",
    "zet de pomp aan, eigenlijk het licht",
    "ポンプをつけて、すみません、ライト",
    "ポンプをつけて、ごめん、ライトをつけて",
    "ポンプをつけて、いや、リレーをつけて",
    "ポンプつけていややっぱりリレー",
    "펌프 켜 줘, 죄송하지만 조명 켜 줘",
    "打开水泵，不好意思，打开灯",
    "打开水泵，哦，打开灯",
    "打开水泵，关掉水泵",
]


@pytest.mark.parametrize("text", CORRECTED)
async def test_an_order_that_was_taken_back_moves_nothing(text: str) -> None:
    assert outcome(await Talk().say(text)) in {"say", "ask"}


ON = "board_gpio_write pin=pump value=on; board_gpio_write pin=led value=on"
OFF_ON = "board_gpio_write pin=pump value=off; board_gpio_write pin=led value=on"
GOING_ON = [
    ("sorry, turn on the pump and the light", ON),
    ("turn on the pump and the light, sorry", ON),
    ("turn on the pump, sorry, and the light", ON),
    ("well, turn on the pump and the light", ON),
    ("actually, turn on the pump and the light", ON),
    ("turn off the pump and turn on the light instead", OFF_ON),
    ("turn the pump off, the light on instead", OFF_ON),
    ("Schalte die Pumpe aus, stattdessen das Licht ein", OFF_ON),
    ("bueno, enciende la bomba y la luz", ON),
    ("すみません、ポンプとライトをつけて", ON),
    ("펌프 켜고 죄송하지만 조명도 켜 줘", ON),
    ("turn off the pump. thanks. turn on the light", OFF_ON),
]


@pytest.mark.parametrize(("text", "wanted"), GOING_ON)
async def test_what_goes_on_is_done(text: str, wanted: str) -> None:
    assert outcome(await Talk().say(text)) == wanted


async def test_one_after_the_other_is_no_contradiction() -> None:
    said = "turn on the pump, then turn off the pump"
    assert outcome(await Talk().say(said)).endswith("pin=pump value=off")


def test_what_is_left_out_of_all_is_no_order() -> None:
    everything = statements_of(analyse("turn all the lights on but the lamp", "en"))
    taken = {id(piece) for one in everything for piece in one.pieces}
    assert taken_back(everything, taken) == "but"
    other = statements_of(analyse("turn all the lights off but the lamp on", "en"))
    assert taken_back(other, {id(piece) for one in other for piece in one.pieces}) is None
