import pytest

from agent.turn.guidance import announces


@pytest.mark.parametrize(
    "text",
    [
        "I will now turn on the pump.",
        "Sure! Let me check the temperature.",
        "Good idea. I'll go ahead and switch the lamp off now...",
        "I am turning on the pump",
        "Ich schalte jetzt die Pumpe ein.",
        "Ich werde das gleich prüfen.",
        "Claro, voy a encender la bomba.",
        "Déjame comprobar la temperatura.",
        "好的,我现在打开水泵。",
        "让我先检查一下温度。",
        "では、今からポンプをオンにします。",
        "네, 지금 펌프를 켜겠습니다.",
        "온도를 확인해 볼게요.",
    ],
)
def test_what_is_only_announced_is_heard_in_six_languages(text: str) -> None:
    assert announces(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The pump is on.",
        "I turned the pump on.",
        "I will turn the pump on when the soil is dry.",
        "Let me know if you need anything else!",
        "I'll be here.",
        "Shall I turn on the pump?",
        "I will turn on the pump. It is on now.",
        "If you like, I will read the file.",
        "Ich schalte die Pumpe ein, wenn es trocken ist.",
        "Die Pumpe ist jetzt an.",
        "Si quieres, voy a encender la bomba.",
        "水泵已经打开了。",
        "如果土壤干了,我现在打开水泵。",
        "ポンプをオンにしました。",
        "펌프를 켰습니다.",
        "I will now turn on " + "and on " * 50,
    ],
)
def test_what_tells_asks_or_offers_is_no_announcement(text: str) -> None:
    assert not announces(text)


def test_a_very_long_text_is_looked_at_only_at_its_end() -> None:
    assert announces("word " * 200_000 + ". I will now read the file.")
    assert not announces("I will " * 200_000)
