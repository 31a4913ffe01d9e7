"""Sweep of levels from 0 to 100 %: in digits and in words, in every language.

The words are spelled here, apart from the vocabulary that has to understand them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from scripts.lib.bench.language_home import Home, home_with_level
from scripts.lib.bench.language_score import LEVEL, Case
from tests.providers.offline.spelled import SPELLED

_EN = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen
    fourteen fifteen sixteen seventeen eighteen nineteen
"""
_EN_TENS = """
    - - twenty thirty forty fifty sixty seventy eighty ninety
"""
_DE = """
    null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn
    vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn
"""
_DE_TENS = """
    - - zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig
"""
_ES = """
    cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece
    catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno
    veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho
    veintinueve
"""
_ES_TENS = """
    - - - treinta cuarenta cincuenta sesenta setenta ochenta noventa
"""
_HAN = "零一二三四五六七八九"
_KO = "영일이삼사오육칠팔구"

# Of each language: what stands before the number, after digits, after words, and after both
_SENTENCES = {
    "en": ("set the fan to ", "%", " percent", ""),
    "de": ("stell den Ventilator auf ", " %", " Prozent", ""),
    "es": ("pon el ventilador al ", "%", " por ciento", ""),
    "zh": ("把风扇设置为", "%", "", ""),
    "ja": ("ファンを", "%", "パーセント", "にしてください"),
    "ko": ("선풍기를 ", "%", " 퍼센트", "로 설정해 줘"),
    "fr": ("mets le ventilateur à ", " %", " pour cent", ""),
    "it": ("imposta il ventilatore al ", " %", " per cento", ""),
    "pt": ("ajusta o ventilador para ", " %", " por cento", ""),
    "nl": ("zet de ventilator op ", " %", " procent", ""),
}


@dataclass(frozen=True, slots=True)
class Spelling:
    """A number as one language says it."""

    code: str
    number: int

    def __str__(self) -> str:
        tens, ones = divmod(self.number, 10)
        match self.code:
            case "en":
                return self._english(tens, ones)
            case "de":
                return self._german(tens, ones)
            case "es":
                return self._spanish(tens, ones)
            case "ko":
                return _by_tens(self.number, _KO, "십", "백")
            case "zh":
                return f"百分之{_by_tens(self.number, _HAN, '十', '一百')}"
            case _:
                return _by_tens(self.number, _HAN, "十", "百")

    def _english(self, tens: int, ones: int) -> str:
        if self.number >= 100:  # noqa: PLR2004 - the end of the sweep
            return "one hundred"
        if self.number < len(_EN.split()):
            return _EN.split()[self.number]
        return _EN_TENS.split()[tens] + (f"-{_EN.split()[ones]}" if ones else "")

    def _german(self, tens: int, ones: int) -> str:
        if self.number >= 100:  # noqa: PLR2004 - the end of the sweep
            return "hundert"
        if self.number < len(_DE.split()):
            return _DE.split()[self.number]
        return (f"{_DE.split()[ones]}und" if ones else "") + _DE_TENS.split()[tens]

    def _spanish(self, tens: int, ones: int) -> str:
        if self.number >= 100:  # noqa: PLR2004 - the end of the sweep
            return "cien"
        if self.number < len(_ES.split()):
            return _ES.split()[self.number]
        return _ES_TENS.split()[tens] + (f" y {_ES.split()[ones]}" if ones else "")


def sweep(*, in_words: bool) -> Iterator[Case]:
    """A sentence for each level in each language."""
    for code, (before, sign, word, after) in _SENTENCES.items():
        home = _home(code)
        for number in range(101):
            said = f"{_spelled(code, number)}{word}" if in_words else f"{number}{sign}"
            call = ("board_pwm_write", {"pin": "fan", "frequency": 0, "duty": number})
            yield Case(code, LEVEL, f"{before}{said}{after}", home, (call,))


def _spelled(code: str, number: int) -> str:
    return SPELLED[code](number) if code in SPELLED else str(Spelling(code, number))


def _home(code: str) -> Home:
    names = {"ko": "선풍기", "ja": "ファン"}
    return home_with_level("fan", *([names[code]] if code in names else []))


def _by_tens(number: int, digits: str, ten: str, hundred: str) -> str:
    if number == 100:  # noqa: PLR2004 - the end of the sweep
        return hundred
    tens, ones = divmod(number, 10)
    before = "" if tens < 2 else digits[tens]  # noqa: PLR2004 - ten alone is no "one ten"
    return (f"{before}{ten}" if tens else "") + (digits[ones] if ones or not tens else "")
