from hypothesis import given
from hypothesis import strategies as st

from agent.memory.keys import key_of, searched_text


def test_a_key_begins_with_the_words_of_the_content() -> None:
    assert key_of("My sister is Mei.").startswith("my-sister-is-mei-")


def test_a_key_is_made_in_any_script() -> None:
    assert key_of("我妹妹叫小美").startswith("我妹妹叫小美-")
    assert key_of("내 여동생 이름").startswith("내-여동생-이름-")


def test_a_long_content_gives_whole_words() -> None:
    readable, _, _ = key_of("the boiler was repaired in the spring of last year").rpartition("-")
    assert readable == "the-boiler-was-repaired-in-the"


def test_case_spacing_and_closing_marks_make_no_difference() -> None:
    assert key_of("My sister  is Mei!") == key_of("my sister is mei")


def test_marks_inside_make_a_difference() -> None:
    assert key_of("at night it is -5 degrees") != key_of("at night it is 5 degrees")


@given(st.text(max_size=300))
def test_a_key_is_short_and_the_same_every_time(content: str) -> None:
    assert 0 < len(key_of(content)) <= 43
    assert key_of(content) == key_of(content)


@given(st.text(max_size=100), st.text(max_size=100))
def test_contents_that_differ_in_words_have_different_keys(one: str, other: str) -> None:
    assert (key_of(f"a{one}a") == key_of(f"b{other}b")) is False


def test_a_chosen_key_is_searched_and_a_made_one_is_not() -> None:
    assert searched_text("sister_name", "Mei") == "sister name: Mei"
    assert searched_text(key_of("Mei"), "Mei") == "Mei"


@given(st.text(st.characters(max_codepoint=127), max_size=20))
def test_plain_letters_make_the_words_that_they_make_beside_others(content: str) -> None:
    words = content.lower().split()
    plain = "".join(char if char.isalnum() else " " for char in " ".join(words)).split()
    assert key_of(f"{content} b").rpartition("-")[0] == "-".join([*plain, "b"])
