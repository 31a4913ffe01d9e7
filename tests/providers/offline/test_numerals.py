"""Spoken numbers, from 0 to 1000 in six languages: whole or not at all."""

import pytest

from agent.providers.offline.pieces import Piece, analyse

_EN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_EN_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety"
_DE = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn"
)
_DE_TENS = "- - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_ES = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro "
    "veinticinco veintiséis veintisiete veintiocho veintinueve"
)
_ES_TENS = "- - - treinta cuarenta cincuenta sesenta setenta ochenta noventa"
_ES_HUNDREDS = (
    "- ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos "
    "novecientos"
)


def english(number: int) -> str:
    if number >= 100:
        rest = number % 100
        return f"{english(number // 100)} hundred" + (f" and {english(rest)}" if rest else "")
    if number < 20:
        return _EN.split()[number]
    return _EN_TENS.split()[number // 10] + (f"-{english(number % 10)}" if number % 10 else "")


def german(number: int) -> str:
    if number >= 100:
        few = "ein" if number // 100 == 1 else german(number // 100)
        return f"{few}hundert" + (german(number % 100) if number % 100 else "")
    if number < 20:
        return _DE.split()[number]
    ones = "ein" if number % 10 == 1 else german(number % 10)
    return (f"{ones}und" if number % 10 else "") + _DE_TENS.split()[number // 10]


def spanish(number: int) -> str:
    if number == 100:
        return "cien"
    if number > 100:
        rest = number % 100
        return _ES_HUNDREDS.split()[number // 100] + (f" {spanish(rest)}" if rest else "")
    if number < 30:
        return _ES.split()[number]
    tens = _ES_TENS.split()[number // 10]
    return f"{tens} y {spanish(number % 10)}" if number % 10 else tens


def by_powers(number: int, digits: str, ten: str, hundred: str, *, names_gaps: bool) -> str:
    if number < 10:
        return digits[number]
    hundreds, tens, ones = number // 100, number // 10 % 10, number % 10
    few = "" if hundreds == 1 and not names_gaps else digits[hundreds]
    text = f"{few}{hundred}" if hundreds else ""
    if tens:
        alone = tens == 1 and not (hundreds and names_gaps)
        text += f"{'' if alone else digits[tens]}{ten}"
    elif hundreds and ones and names_gaps:
        text += digits[0]
    return text + (digits[ones] if ones else "")


def chinese(number: int) -> str:
    return by_powers(number, "零一二三四五六七八九", "十", "百", names_gaps=True)


def japanese(number: int) -> str:
    return by_powers(number, "零一二三四五六七八九", "十", "百", names_gaps=False)


def korean(number: int) -> str:
    return by_powers(number, "영일이삼사오육칠팔구", "십", "백", names_gaps=False)


SPELLERS = {
    "en": (english, " percent"),
    "de": (german, " Prozent"),
    "es": (spanish, " por ciento"),
    "zh": (chinese, "度"),
    "ja": (japanese, "パーセント"),
    "ko": (korean, " 퍼센트"),
}


def numbers(said: str, code: str) -> list[Piece]:
    return [piece for piece in analyse(said, code).pieces if piece.kind.value == "number"]


@pytest.mark.parametrize("code", SPELLERS)
def test_every_number_below_a_thousand_is_read_whole(code: str) -> None:
    spell, unit = SPELLERS[code]
    read = {number: numbers(f"{spell(number)}{unit}", code) for number in range(1000)}
    wrong = {n: [one.number for one in found] for n, found in read.items() if len(found) != 1}
    assert wrong == {}
    assert [found[0].number for found in read.values()] == list(range(1000))


@pytest.mark.parametrize(
    ("said", "code", "value"),
    [
        ("a thousand percent", "en", 1000),
        ("tausend Prozent", "de", 1000),
        ("mil por ciento", "es", 1000),
        ("一千度", "zh", 1000),
        ("千パーセント", "ja", 1000),
        ("천 퍼센트", "ko", 1000),
        ("twenty point five percent", "en", 20.5),
        ("zwanzig Komma fünf Prozent", "de", 20.5),
        ("20,5 Prozent", "de", 20.5),
        ("veinte coma cinco por ciento", "es", 20.5),
        ("二十点五度", "zh", 20.5),
        ("百分之五十", "zh", 50),
        ("百分之0", "zh", 0),
        ("三分之一", "zh", 0.333333),
        ("三分の一", "ja", 0.333333),
        ("삼분의 일", "ko", 0.333333),
        ("half", "en", 0.5),
        ("three quarters", "en", 0.75),
        ("ein Viertel", "de", 0.25),
        ("medio", "es", 0.5),
        ("一半", "zh", 0.5),
        ("半分", "ja", 0.5),
        ("七成", "zh", 0.7),
        ("8成", "zh", 0.8),
        ("五割", "ja", 0.5),
        ("七割五分", "ja", 0.75),
        ("７割", "ja", 0.7),
        ("30퍼센트", "ko", 30),
        ("7할", "ko", 0.7),
        ("절반", "ko", 0.5),
        ("스물다섯 퍼센트", "ko", 25),
    ],
)
def test_numbers_of_other_shapes_have_their_values(said: str, code: str, value: float) -> None:
    assert [one.number for one in numbers(said, code)] == [value]


@pytest.mark.parametrize(
    ("said", "code", "values"),
    [("七成5秒", "zh", [0.7, 5]), ("七成五分钟", "zh", [0.7, 5]), ("7割5分間", "ja", [0.7, 5])],
)
def test_a_time_after_tenths_is_no_part_of_them(said: str, code: str, values: list[float]) -> None:
    assert [one.number for one in numbers(said, code)] == values


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("twenty thirty percent", "en"),
        ("five twenty", "en"),
        ("zwanzig dreißig Prozent", "de"),
        ("一百五度", "zh"),
        ("二二度", "zh"),
        ("十百度", "zh"),
        ("一百零度", "zh"),
        ("百分之", "zh"),
        ("이이 퍼센트", "ko"),
    ],
)
def test_words_that_make_no_number_have_no_value(said: str, code: str) -> None:
    assert not [one for one in numbers(said, code) if one.number is not None and len(one.text) > 2]


@pytest.mark.parametrize("said", ["오늘", "오이", "일요일", "사람이 많아"])
def test_syllables_of_other_words_are_no_numbers(said: str) -> None:
    assert numbers(said, "ko") == []
