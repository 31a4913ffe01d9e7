"""Small talk in a word, in each language, and nothing of it beside a wish."""

import pytest

from agent.providers.offline.lexicon import LANGUAGES, lexicon
from agent.providers.offline.provider import OfflineProvider
from agent.providers.offline.small_talk import language_of, small_talk
from tests.providers.offline.talk import Talk, outcome

ALL = [
    (code, key, said)
    for code in LANGUAGES
    for key, table in lexicon(code).wording["manners"].items()
    for said in table["said"]
]


@pytest.mark.parametrize(("code", "key", "said"), ALL)
def test_every_form_is_found_with_marks_a_greeting_and_the_name(
    code: str, key: str, said: str
) -> None:
    assert small_talk(f"{said}?!", code, "Barnacle") == key
    assert small_talk(f"{said}, Barnacle", code, "Barnacle") == key
    greeting = lexicon(code).wording["words"]["greet"][0]
    assert small_talk(f"{greeting}, {said}", code, "Barnacle") == key


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("who are you?", "I am Barnacle"),
        ("Wer bist du?", "Ich bin Barnacle"),
        ("¿Quién eres?", "Soy Barnacle"),
        ("你是谁？", "我是Barnacle"),
        ("你是誰？", "設備"),
        ("你係邊個？", "設備"),
        ("あなたは誰ですか？", "アシスタントのBarnacle"),
        ("너는 누구야?", "도우미 Barnacle"),
        ("How are you?", "I am well"),
        ("wie geht's?", "Gut, danke."),
        ("good night", "I stay awake"),
        ("sorry", "No problem"),
    ],
)
async def test_small_talk_is_answered_in_its_language(said: str, words: str) -> None:
    answer = await Talk().ask(said)
    assert words in answer
    assert answer.count("\n") == 0


async def test_it_goes_by_the_name_that_its_owner_gave_it() -> None:
    talk = Talk(provider=OfflineProvider(called="Robo Bob"))
    assert "I am Robo Bob" in await talk.ask("hey Robo Bob, who are you?")


async def test_a_wish_beside_small_talk_goes_first() -> None:
    assert outcome(await Talk().say("sorry, turn on the led")).startswith("board_gpio_write")
    assert outcome(await Talk().say("good night, turn off the led")).startswith("board_gpio_write")


async def test_small_talk_answers_no_question() -> None:
    talk = Talk()
    await talk.ask("turn it on")
    assert "led" in await talk.ask("turn it on")
    answer = await talk.ask("good")
    assert talk.calls == []
    assert answer


def test_a_word_that_two_languages_have_tells_none() -> None:
    assert language_of("wer bist du?") == "de"
    assert language_of("perfect") is None or language_of("perfect") == "en"
    assert language_of("turn on the led") is None
    assert small_talk("", "en", "Barnacle") is None
    assert small_talk("word " * 40, "en", "Barnacle") is None
