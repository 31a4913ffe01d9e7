"""Whole numbers below a thousand in words, by the grammar of each language, apart from its file."""

# ruff: noqa: SIM905  # a row of words is read more easily than a list of texts

from collections.abc import Callable

_FR = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
).split()
_FR_TENS = ("", "", "vingt", "trente", "quarante", "cinquante", "soixante")
_IT = (
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici "
    "quindici sedici diciassette diciotto diciannove"
).split()
_IT_TENS = "_ _ venti trenta quaranta cinquanta sessanta settanta ottanta novanta".split()
_PT = (
    "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze "
    "dezasseis dezassete dezoito dezanove"
).split()
_PT_TENS = "_ _ vinte trinta quarenta cinquenta sessenta setenta oitenta noventa".split()
_PT_HUNDREDS = (
    "_ cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos"
).split()
_NL = (
    "nul een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien "
    "zestien zeventien achttien negentien"
).split()
_NL_TENS = "_ _ twintig dertig veertig vijftig zestig zeventig tachtig negentig".split()


def french(number: int) -> str:
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        plural = "s" if hundreds > 1 and not rest else ""
        head = "cent" if hundreds == 1 else f"{_FR[hundreds]} cent{plural}"
        return f"{head} {french(rest)}" if rest else head
    if number < 20:
        return _FR[number]
    if number >= 80:
        return "quatre-vingts" if number == 80 else f"quatre-vingt-{french(number - 80)}"
    tens = min(number // 10, 6)
    rest = number - 10 * tens
    if not rest:
        return _FR_TENS[tens]
    joint = " et " if rest in {1, 11} else "-"
    return f"{_FR_TENS[tens]}{joint}{_FR[rest]}"


def italian(number: int) -> str:
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        head = f"{'' if hundreds == 1 else _IT[hundreds]}cento"
        if not rest:
            return head
        # Before another o the last letter goes
        short = rest == 8 or rest in range(80, 90)
        return f"{head[:-1] if short else head}{italian(rest)}"
    if number < 20:
        return _IT[number]
    tens, rest = divmod(number, 10)
    if not rest:
        return _IT_TENS[tens]
    head = _IT_TENS[tens][:-1] if rest in {1, 8} else _IT_TENS[tens]
    return f"{head}{'tré' if rest == 3 else _IT[rest]}"


def portuguese(number: int) -> str:
    if number == 100:
        return "cem"
    if number > 100:
        hundreds, rest = divmod(number, 100)
        head = _PT_HUNDREDS[hundreds]
        return f"{head} e {portuguese(rest)}" if rest else head
    if number < 20:
        return _PT[number]
    tens, rest = divmod(number, 10)
    return f"{_PT_TENS[tens]} e {_PT[rest]}" if rest else _PT_TENS[tens]


def dutch(number: int) -> str:
    if number >= 100:
        hundreds, rest = divmod(number, 100)
        head = f"{'' if hundreds == 1 else _NL[hundreds]}honderd"
        return f"{head}{dutch(rest)}" if rest else head
    if number < 20:
        return _NL[number]
    tens, rest = divmod(number, 10)
    if not rest:
        return _NL_TENS[tens]
    joint = "ën" if rest in {2, 3} else "en"
    return f"{_NL[rest]}{joint}{_NL_TENS[tens]}"


SPELLED: dict[str, Callable[[int], str]] = {
    "fr": french,
    "it": italian,
    "pt": portuguese,
    "nl": dutch,
}
