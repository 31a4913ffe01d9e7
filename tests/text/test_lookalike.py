import pytest

from agent.text.lookalike import folded, looks, plain_name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna", "ANNA"),
        ("Anna", "\u0391nna"),
        ("Anna", "\u0410\u0578\u0578\u0430"),
        ("Anna", "\u13aanna"),
        ("Anna", "\U0001d400nna"),
        ("Anna", "An\u00adna"),
        ("Anna", "Anna\ufe0f"),
        ("Ivan", "lvan"),
        ("Ivan", "1van"),
        ("Otto", "0tt\u0ce6"),
        ("Pam", "Parn"),
        ("O'Hara", "O\u2019Hara"),
        ("Jean-Luc", "Jean\u2011Luc"),
        ("\u0421\u0430\u0448\u0430", "C\u0430\u0448a"),
        ("\u30ed\u30dc", "\u53e3\u30dc"),
        ("Jos\u00e9", "Jose\u0301"),
        ("Jos\u00e9", "Jos\u03b5\u0301".replace("\u03b5", "\u0435")),
        ("user 2", "user \u0662"),
    ],
)
def test_names_that_look_the_same_share_a_look(one: str, other: str) -> None:
    assert looks(one) & looks(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna", "Anne"),
        ("Zoe", "Zo\u00eb"),
        ("Ali", "All"),
        ("Ola", "Olga"),
        ("\u0410\u043d\u043d\u0430", "Anna"),
        ("\u674e", "\u738b"),
        ("user 2", "user 3"),
        ("\u0e01\u0e34", "\u0e01\u0e32"),
    ],
)
def test_other_names_do_not(one: str, other: str) -> None:
    assert not looks(one) & looks(other)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("  Anna  B ", "Anna B"),
        ("An\u200bna\u3164\ufeff", "Anna"),
        ("Anna\u200d\ufe0f", "Anna"),
        ("\U0001f469\u200d\U0001f52c", "\U0001f469\u200d\U0001f52c"),
        ("\u0dc1\u0dca\u200d\u0dbb\u0dd3", "\u0dc1\u0dca\u200d\u0dbb\u0dd3"),
        ("\u2800\u3164", ""),
    ],
)
def test_a_name_has_nothing_that_is_not_drawn(raw: str, name: str) -> None:
    assert plain_name(raw) == name


def test_a_name_has_one_spelling() -> None:
    assert folded(" Jose\u0301  B ") == folded("JOS\u00c9 b") == "jos\u00e9 b"
