"""Remembering, recalling and forgetting, as whole conversations."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.providers.offline.talk import Talk
from tests.providers.offline.toolset import BOARD


class Shelf:
    """A memory that recalls everything, most relevant or not."""

    def __init__(self, *contents: str, passing: bool = False) -> None:
        self.kept = {f"key-{number}": content for number, content in enumerate(contents)}
        self.category = "conversation" if passing else "core"

    def store(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        key = f"key-{len(self.kept)}"
        self.kept[key] = arguments["content"]
        return {"stored": key}

    def recall(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        memories = [
            {
                "key": key,
                "content": content,
                "category": self.category,
                "provenance": "owner",
                "date": "2026-11-20",
            }
            for key, content in self.kept.items()
        ]
        return {"memories": memories}

    def forget(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"forgotten": self.kept.pop(arguments["key"], None) is not None}

    def talk(self) -> Talk:
        return Talk(
            results={
                "memory_store": self.store,
                "memory_recall": self.recall,
                "memory_forget": self.forget,
            }
        )


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        ("remember that my sister is called Mei", "what is my sister called?", "Mei"),
        ("remember that my sister's name is Mei", "what is my sister called?", "Mei"),
        ("记住我妹妹叫小美", "我妹妹叫什么?", "小美"),
        ("記住我妹妹叫小美", "我妹妹叫什麼?", "小美"),
        ("妹の名前はメイだと覚えて", "妹の名前は何ですか?", "メイ"),
        ("내 여동생 이름은 메이라고 기억해줘", "내 여동생 이름이 뭐야?", "메이"),
        ("Merke dir, dass meine Schwester Mei heißt", "Wie heißt meine Schwester?", "Mei"),
        ("Recuerda que mi hermana se llama Mei", "¿Cómo se llama mi hermana?", "Mei"),
        ("please remember that the spare key is under the mat", "where is the spare key?", "mat"),
        ("note that Anna's birthday is on 3 May", "when is Anna's birthday?", "3 May"),
        ("记住车停在B2层", "车停在哪里?", "B2"),
    ],
)
async def test_what_was_told_is_answered_among_other_memories(
    told: str, question: str, answer: str
) -> None:
    shelf = Shelf("the bins go out on Tuesday", "奶奶喜欢喝茶", "the cat is called Momo")
    talk = shelf.talk()
    await talk.ask(told)
    text = await talk.ask(question)
    assert answer in text
    assert "Tuesday" not in text
    assert "奶奶" not in text


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("what is my brother's favourite colour?", "I remember nothing about that."),
        ("我的车停在哪里?", "我不记得和这有关的事。"),
    ],
)
async def test_what_was_never_told_is_not_made_up(question: str, answer: str) -> None:
    assert (await Shelf("my sister is called Mei").talk().ask(question)).startswith(answer)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("what is my cat called?", "which cat is it?"),
        ("turn the led on for 5 seconds", "when the button is pressed turn on the led"),
        ("cancel the reminder", "which reminders did I set?"),
        ("remind me in 10 minutes to water the plants", "who waters the plants?"),
        ("set a timer for 10 minutes", "what did I set for 10 minutes?"),
        ("wie heißt meine Katze?", "welche Katze ist das?"),
        ("schalte die Pumpe ein", "warum lief die Pumpe?"),
        ("我的猫叫什么？", "哪只猫？"),
        ("打开水泵", "水泵为什么开了？"),
    ],
)
async def test_what_somebody_only_asked_or_ordered_is_no_answer(said: str, question: str) -> None:
    assert said not in await Shelf(said, passing=True).talk().ask(question)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("my cat is called Minka", "what is my cat called?"),
        ("I turned the boiler off on Monday", "when did I turn off the boiler?"),
        ("the timer in the kitchen is broken", "which timer is broken?"),
        ("my job is plumber", "what is my job?"),
        ("meine Katze heißt Minka", "wie heißt meine Katze?"),
        ("我的猫叫咪咪", "我的猫叫什么？"),
    ],
)
async def test_what_was_told_in_passing_is_an_answer(said: str, question: str) -> None:
    assert said in await Shelf(said, passing=True).talk().ask(question)


async def test_a_question_is_not_offered_to_be_forgotten() -> None:
    talk = Shelf("my cat is called Minka", "what is my cat called?", passing=True).talk()
    assert "what is my cat called?" not in await talk.ask("forget my cat")


async def test_a_memory_that_has_only_some_of_the_words_is_told_as_the_nearest() -> None:
    text = await Shelf("my sister lives in Kiel").talk().ask("what is my sister called?")
    assert text == "The closest memory: my sister lives in Kiel"


async def test_everything_that_is_known_is_listed() -> None:
    talk = Shelf("my sister is called Mei", "I am allergic to nuts").talk()
    text = await talk.ask("what do you know about me?")
    assert text.splitlines()[1:] == ["- my sister is called Mei", "- I am allergic to nuts"]
    assert "*" in talk.calls[0].arguments_json


async def test_an_empty_memory_says_how_to_fill_it() -> None:
    assert "remember that" in await Shelf().talk().ask("what do you know about me?")


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("forget that my sister is called Mei", "my sister is called Mei"),
        ("please forget my sister", "my sister is called Mei"),
        ("忘掉奶奶喜欢喝茶", "奶奶喜欢喝茶"),
        ("奶奶の好きなお茶を忘れて", ""),
    ],
)
async def test_only_the_memory_that_is_clearly_meant_is_forgotten(said: str, gone: str) -> None:
    shelf = Shelf("my sister is called Mei", "奶奶喜欢喝茶", "the cat is called Momo")
    before = set(shelf.kept.values())
    text = await shelf.talk().ask(said)
    assert before - set(shelf.kept.values()) == ({gone} if gone else set())
    assert gone in text


async def test_when_two_memories_may_be_meant_it_asks_and_the_answer_decides() -> None:
    shelf = Shelf("my sister is called Mei", "my sister lives in Kiel", "the cat is called Momo")
    talk = shelf.talk()
    question = await talk.ask("forget my sister")
    assert question.startswith("Which of these shall I forget: “my sister is called Mei” or ")
    assert len(shelf.kept) == 3
    await talk.ask("the second one")
    assert "my sister lives in Kiel" not in shelf.kept.values()
    assert len(shelf.kept) == 2


async def test_a_memory_that_only_resembles_is_asked_about_and_a_no_keeps_it() -> None:
    shelf = Shelf("my sister is called Mei")
    talk = shelf.talk()
    question = await talk.ask("forget where my sister works")
    assert question == "Shall I forget this: “my sister is called Mei”?"
    await talk.ask("no")
    assert len(shelf.kept) == 1
    await talk.ask("forget where my sister works")
    await talk.ask("yes")
    assert not shelf.kept


async def test_what_is_not_remembered_is_not_forgotten() -> None:
    shelf = Shelf("the cat is called Momo")
    assert "have forgotten nothing" in await shelf.talk().ask("forget my phone number")
    assert shelf.kept


async def test_a_recall_that_fails_is_told() -> None:
    talk = Talk(results={"memory_recall": "error: the memory cannot be read"})
    text = await talk.ask("forget my sister")
    assert text == "I could not look into my memory: the memory cannot be read"


async def test_without_memory_tools_it_does_not_pretend_to_remember() -> None:
    talk = Talk(BOARD)
    assert "did not understand" in await talk.ask("remember that my sister is called Mei")
    assert "did not understand" in await talk.ask("what is my sister called?")


async def test_a_persons_own_words_are_kept_as_they_were_typed() -> None:
    shelf = Shelf()
    await shelf.talk().ask("Remember:  “Ｗi-Fi is Ça va?”, ask ‘Zoë’ — twice.")
    assert list(shelf.kept.values()) == ["Ｗi-Fi is Ça va?”, ask ‘Zoë’ — twice."]
