import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.text import asked_tokens, is_marked, normalise, tokens, word_spans

ANY_TEXT = st.text(max_size=200)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My sister's 2 cats", ["my", "sister", "s", "2", "cats"]),
        ("今天天气很好", ["今天", "天天", "天气", "气很", "很好"]),
        ("我", ["我"]),
        ("東京タワーへ行く", ["東京", "京タ", "タワ", "ワー", "ーへ", "へ行", "行く"]),
        ("人々", ["人々"]),
        ("내 여동생", ["내", "여동", "동생"]),
        ("打开LED灯2号", ["打开", "led", "灯", "2", "号"]),
        ("ＬＥＤ　ﾗﾝﾌﾟ", ["led", "ラン", "ンプ"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("แมวนอนที่บ้าน", ["แมว", "วน", "นอ", "อน", "นที่", "ที่บ้า", "บ้าน"]),
        ("น้ำ", ["น้ํา"]),
        ("ເຮືອນ", ["ເຮືອ", "ອນ"]),
        ("ပန်းခြံ", ["ပန်း", "န်းခြံ"]),
        ("ເປີດled", ["ເປີດ", "led"]),
        ("snake_case-and.dots", ["snake", "case", "and", "dots"]),
        ("🙂 -- !?", []),
        ("", []),
    ],
)
def test_a_text_is_split_as_its_script_is_written(text: str, expected: list[str]) -> None:
    assert list(tokens(text)) == expected


def test_composed_and_decomposed_letters_are_the_same() -> None:
    assert list(tokens("caf\u00e9 가")) == list(tokens("cafe\u0301 \u1100\u1161"))


@given(ANY_TEXT)
def test_no_token_is_empty_or_holds_a_separator(text: str) -> None:
    for token in tokens(text):
        assert token
        assert not any(char.isspace() or char in '"*()^:' for char in token)


@given(ANY_TEXT)
def test_case_and_width_make_no_difference(text: str) -> None:
    assert list(tokens(text)) == list(tokens(normalise(text)))


@given(ANY_TEXT | st.text(alphabet="กเะาี่น้ำ ไทab1"))
def test_tokens_of_tokens_are_the_same(text: str) -> None:
    assert list(tokens(" ".join(tokens(text)))) == list(tokens(text))


@given(st.text(alphabet="一二三四五六七八九十", min_size=2, max_size=30))
def test_any_part_of_a_run_shares_all_its_pairs(run: str) -> None:
    middle = run[: len(run) // 2 + 1]
    if len(middle) > 1:
        assert set(tokens(middle)) <= set(tokens(run))


def test_a_question_leaves_out_words_that_ask_for_nothing() -> None:
    assert asked_tokens("What is my sister's name? The name!", 10) == ["sister", "name"]


def test_a_question_of_nothing_but_empty_words_keeps_them() -> None:
    assert asked_tokens("who are you", 10) == ["who", "are", "you"]


def test_a_long_question_is_cut() -> None:
    assert asked_tokens(" ".join(f"word{number}" for number in range(100)), 7) == [
        f"word{number}" for number in range(7)
    ]


def test_a_chinese_question_leaves_out_what_only_asks() -> None:
    assert asked_tokens("我姐姐叫什么", 10) == ["我姐", "姐姐", "姐叫", "叫什"]
    assert asked_tokens("什么", 10) == ["什么"]


@pytest.mark.parametrize("word", ["được", "tiếng", "café", "über", "e\u0301t"])
def test_a_word_with_an_accent_or_a_tone_is_marked(word: str) -> None:
    assert is_marked(word)


@pytest.mark.parametrize("word", ["pump", "Straße", "水泵", "グループ", "김치", "2", ""])
def test_a_word_without_one_is_not(word: str) -> None:
    assert not is_marked(word)


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_letters_are_split_as_beside_others(text: str) -> None:
    assert [*tokens(text), "\u00e4"] == [*tokens(f"{text} \u00e4")]
    assert normalise(f"{text} \u00e4") == f"{normalise(text)} \u00e4"
    end = len(text) + 1
    assert [*word_spans(text), (end, end + 1)] == word_spans(f"{text} \u00e4")
