"""Spoken numbers: read whole or not at all.

`read` tells the longest number that begins at a unit. Where more number words follow than make a
number, the value is None: nothing acts on half of what was said. How a language makes numbers of
words stands in its vocabulary (`[numbers]`, `[numerals]`, `[fractions]`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from agent.providers.offline.amounts import from_digits
from agent.providers.offline.units import Unit, UnitKind

# A part of a whole, and a number that is said with its per cent
FRACTION = "fraction"
PERCENT = "percent"

# More words than this are no number below a million
_MAX_WORDS = 8
_PREFIX_CHARS = 2
_HUNDRED = 100
_TEN = 10
HALF = 0.5
_POWERS = frozenset({10_000, 1_000, 100, 10})
_DIGITS = 6


class Numeral(Struct, frozen=True):
    """Number that was read: its end, its value, and if it is a part or a share.

    Args:
        value: None where number words stand there that make no number.
        kind: `FRACTION`, `PERCENT`, or empty for a plain number.
    """

    end: int
    value: float | None
    kind: str = ""


class Numerals:
    """Reader of the numbers of one language.

    Args:
        fold: spells a word as the units of a sentence are spelled.
    """

    def __init__(self, vocabulary: Mapping[str, Any], fold: Callable[[str], str]) -> None:
        rules: Mapping[str, Any] = vocabulary["numerals"]
        self._decimal: str = vocabulary["decimal"]
        self._positional: bool = rules.get("positional", False)
        self._words = {fold(word): float(n) for word, n in vocabulary["numbers"].items()}
        self._fractions = {fold(word): n for word, n in vocabulary["fractions"].items()}
        self._points = tuple(map(fold, rules.get("point", ())))
        # Before and after the divisor of a part: 分之, の
        self._divides = tuple(map(fold, rules.get("divides", ())))
        # After a tenth of a whole, and after a hundredth that follows it: 七成五, 七割五分
        self._tenths: str = fold(rules.get("tenths", ""))
        self._hundredths: str = fold(rules.get("hundredths", ""))
        # Before a number below zero: minus five
        self._minus = frozenset(fold(word).replace(" ", "") for word in rules.get("minus", ()))
        self._longest_minus = max(map(len, self._minus), default=0)
        inside = {fold(word): float(n) for word, n in rules.get("inside", {}).items()}
        self._inside = inside
        self._below = {} if self._positional else _below_hundred(self._words, inside, rules)
        self._hundreds = {} if self._positional else _hundreds(self._words, inside, rules)
        self._rest: tuple[str, ...] = tuple(rules.get("rest", ()))
        # What makes half a one more of a number: zweieinhalb, two and a half
        self._and_half: tuple[str, ...] = tuple(map(fold, rules.get("and_half", ())))
        self._names_gaps: bool = rules.get("names_gaps", False)
        measures = vocabulary["measures"].values()
        self._counters = tuple(fold(word).replace(" ", "") for forms in measures for word in forms)
        self._longest_unit = max(map(len, self._counters), default=0)
        self._longest = max(map(len, (*self._words, *self._fractions)), default=1)
        known = (*self._words, *inside, *self._below, *self._hundreds, *self._fractions)
        self._prefixes = frozenset(word.split(" ")[0][:_PREFIX_CHARS] for word in known)

    def read(self, units: Sequence[Unit], position: int) -> Numeral | None:
        """Return the number that begins here; None if none does."""
        if self._positional:
            part = self._part(units, position) or self._tenths_of_all(units, position)
            return part or self._positional_number(units, position)
        if units[position].text[:_PREFIX_CHARS] not in self._prefixes:
            return None
        return self._spaced_number(units, position)

    def is_part(self, units: Sequence[Unit], position: int, end: int) -> bool:
        """Return true if the number up to `end` goes on as a part or with decimals: un quart."""
        if self._positional:
            return False
        if end + 1 < len(units) and units[end].text in self._points:
            after = units[end + 1]
            return after.kind is UnitKind.NUMBER or self._value(after.text) is not None
        found = self.read(units, position)
        return found is not None and found.end > end and found.kind == FRACTION

    def past_half(self, units: Sequence[Unit], position: int) -> int:
        """Return the end of a half that makes a number half a one more; the position if none is."""
        for ending in self._and_half:
            words = ending.split()
            if [unit.text for unit in units[position : position + len(words)]] == words:
                return position + len(words)
        return position

    def past_minus(self, units: Sequence[Unit], position: int) -> int:
        """Return the end of a word for below zero; the position itself if none is here."""
        for width in range(min(self._longest_minus, len(units) - position), 0, -1):
            if _glued(units[position : position + width]) in self._minus:
                return position + width
        return position

    def _spaced_number(self, units: Sequence[Unit], position: int) -> Numeral | None:
        ends = _word_ends(units, position)
        texts = [_spelled(units[position:end]) for end in ends]
        for end, text in reversed(list(zip(ends, texts, strict=True))):
            if text in self._fractions:
                return Numeral(end, self._fractions[text], FRACTION)
            value = self._value(text)
            if value is None and self._is_counted(units, end):
                value = self._inside.get(text)
            if value is not None:
                return self._whole(units, end, value)
        return None

    def _is_counted(self, units: Sequence[Unit], end: int) -> bool:
        """Return true if the name of a unit follows: ein Prozent."""
        rest = _glued(units[end : end + self._longest_unit])
        return rest.startswith(self._counters)

    def _whole(self, units: Sequence[Unit], end: int, value: float) -> Numeral:
        """Read the number with its decimals; no number at all if another follows at once."""
        after = units[end].text if end < len(units) else ""
        if after in self._points:
            return self._with_decimals(units, end + 1, value)
        following = _word_ends(units, end)
        if any(self._value(_spelled(units[end:one])) is not None for one in following):
            return Numeral(self._run_end(units, end), None)
        return Numeral(end, value)

    def _with_decimals(self, units: Sequence[Unit], start: int, value: float) -> Numeral:
        digits = ""
        end = start
        while end < len(units) and (one := self._words.get(units[end].text)) is not None:
            digits += f"{one:g}"
            end += 1
        if not digits:
            # No decimals: a point in time, or the end of a sentence
            return Numeral(start - 1, value)
        return Numeral(end, float(f"{value:.0f}.{digits}") if digits.isdecimal() else None)

    def _run_end(self, units: Sequence[Unit], end: int) -> int:
        while end < len(units) and self._value(units[end].text) is not None:
            end += 1
        return end

    def _value(self, text: str) -> float | None:
        """Return the value of words that are one number."""
        for ending in self._and_half:
            if text.endswith(ending):
                words = text.removesuffix(ending).rstrip()
                whole = self._inside.get(words, self._whole_value(words))
                return None if whole is None or whole % 1 else whole + HALF
        return self._whole_value(text)

    def _whole_value(self, text: str) -> float | None:
        found = self._below.get(text, self._hundreds.get(text))
        if found is not None:
            return found
        for hundreds, value in self._hundreds.items():
            if not text.startswith(hundreds):
                continue
            rest = text[len(hundreds) :]
            for joint in self._rest:
                below = self._below.get(rest[len(joint) :]) if rest.startswith(joint) else None
                if below:
                    return value + below
        return None

    def _positional_number(self, units: Sequence[Unit], position: int) -> Numeral | None:
        """Read a run of digits and powers of ten, such as 二百五十 or 이십오."""
        fraction = self._fraction(units, position)
        if fraction is not None:
            return fraction
        values, end = self._run(units, position)
        if not values:
            return None
        if end < len(units) and units[end].text in self._points:
            return self._with_decimals(units, end + 1, self._from_powers(values) or 0.0)
        value = self._from_powers(values)
        if units[position].kind is UnitKind.HANGUL and not self._is_apart(
            units, position, end, value
        ):
            return None
        return Numeral(end, value)

    def _from_powers(self, values: Sequence[float]) -> float | None:
        return _from_powers(values, names_gaps=self._names_gaps)

    def _is_apart(
        self, units: Sequence[Unit], position: int, end: int, value: float | None
    ) -> bool:
        """Return true if syllables begin a word and are two, or have a unit."""
        before = units[position - 1] if position else None
        if before is not None and before.kind is UnitKind.HANGUL and units[position].glued:
            return False
        return self._is_counted(units, end) or (value is not None and end - position > 1)

    def _run(self, units: Sequence[Unit], position: int) -> tuple[list[float], int]:
        """Return the values of number words in a row, and their end."""
        values: list[float] = []
        end = position
        while end < len(units) and (found := self._digit(units, end)) is not None:
            values.append(found[0])
            end = found[1]
        return values, end

    def _digit(self, units: Sequence[Unit], position: int) -> tuple[float, int] | None:
        """Return the longest number word here, and its end."""
        for width in range(min(self._longest, len(units) - position), 0, -1):
            text = _glued(units[position : position + width])
            if text in self._words:
                return self._words[text], position + width
        return None

    def _fraction(self, units: Sequence[Unit], position: int) -> Numeral | None:
        for width in range(min(self._longest, len(units) - position), 0, -1):
            text = _glued(units[position : position + width])
            if text in self._fractions:
                return Numeral(position + width, self._fractions[text], FRACTION)
        return None

    def _part(self, units: Sequence[Unit], position: int) -> Numeral | None:
        """Read a part by its divisor: 百分之五十, 三分の一."""
        divisor = self._operand(units, position)
        if divisor is None or divisor.value is None:
            return None
        for divides in self._divides:
            start = divisor.end + len(divides)
            if _glued(units[divisor.end : start]) != divides or start >= len(units):
                continue
            share = self._operand(units, start)
            if share is None or share.value is None:
                return Numeral(share.end if share else start, None)
            if divisor.value == _HUNDRED:
                return Numeral(share.end, share.value, PERCENT)
            return Numeral(share.end, round(share.value / divisor.value, _DIGITS), FRACTION)
        return None

    def _tenths_of_all(self, units: Sequence[Unit], position: int) -> Numeral | None:
        """Read a part in tenths: 七成, 七成半, 7割5分."""
        tenths = self._operand(units, position)
        if not self._tenths or tenths is None or not _is_next(units, tenths.end, self._tenths):
            return None
        end = tenths.end + 1
        half = self._fraction(units, end)
        if half is not None and half.value is not None:
            return Numeral(half.end, _tenths(tenths.value, _TEN * half.value), FRACTION)
        more = self._operand(units, end) if end < len(units) else None
        if more is None or not self._are_hundredths(units, more.end):
            return Numeral(end, _tenths(tenths.value, 0), FRACTION)
        last = more.end + len(self._hundredths)
        return Numeral(last, _tenths(tenths.value, more.value), FRACTION)

    def _are_hundredths(self, units: Sequence[Unit], end: int) -> bool:
        """Return true if a number up to there belongs to the tenths, and counts nothing: 五秒."""
        rest = _glued(units[end : end + self._longest_unit])
        counted = (one for one in self._counters if one != self._hundredths)
        return rest.startswith(self._hundredths) and not rest.startswith(tuple(counted))

    def _operand(self, units: Sequence[Unit], position: int) -> Numeral | None:
        unit = units[position]
        if unit.kind is UnitKind.NUMBER:
            return Numeral(position + 1, from_digits(unit.text, self._decimal))
        values, end = self._run(units, position)
        return Numeral(end, self._from_powers(values)) if values else None


def _tenths(tenths: float | None, hundredths: float | None) -> float | None:
    """Return the part of a whole; None where it is more than all of it, or no number."""
    if tenths is None or hundredths is None or hundredths >= _TEN:
        return None
    part = round(tenths / _TEN + hundredths / _HUNDRED, _DIGITS)
    return part if part <= 1 else None


def _is_next(units: Sequence[Unit], position: int, text: str) -> bool:
    return position < len(units) and units[position].text == text


def _below_hundred(
    words: Mapping[str, float], inside: Mapping[str, float], rules: Mapping[str, Any]
) -> dict[str, float]:
    """Return every number below a hundred, and the thousand, by its spelling."""
    found = {word: n for word, n in words.items() if n == int(n) and n != _HUNDRED}
    parts = {**words, **inside}
    ones = {word: n for word, n in parts.items() if 0 < n < _TEN}
    tens = {word: n for word, n in parts.items() if 2 * _TEN <= n < _HUNDRED and not n % _TEN}
    for ten, many in tens.items():
        for one, few in ones.items():
            for joint in rules["tens"]:
                text = f"{one}{joint}{ten}" if rules.get("ones_first") else f"{ten}{joint}{one}"
                found.setdefault(text, many + few)
    return found


def _hundreds(
    words: Mapping[str, float], inside: Mapping[str, float], rules: Mapping[str, Any]
) -> dict[str, float]:
    parts = {**words, **inside}
    found = {word: n for word, n in parts.items() if n in range(_HUNDRED, 1_000, _HUNDRED)}
    hundred = [word for word, n in words.items() if n == _HUNDRED and " " not in word]
    for one, few in parts.items():
        if 0 < few < _TEN:
            for word in hundred:
                for joint in rules.get("hundreds", ()):
                    found.setdefault(f"{one}{joint}{word}", few * _HUNDRED)
    return found


def _from_powers(values: Sequence[float], *, names_gaps: bool) -> float | None:
    """Return the value of digits and powers of ten in a row; None if they make no number."""
    total, digit, last, gap = 0.0, None, float("inf"), False
    for value in values:
        if value in _POWERS:
            if value >= last or digit == 0:
                return None
            total += (1 if digit is None else digit) * value
            digit, last, gap = None, value, False
        elif value >= _TEN:
            # Tens with a word of their own: 스물
            if digit is not None or last <= _TEN:
                return None
            total, last = total + value, _TEN
        elif digit is not None:
            return None
        elif value == 0 and total:
            gap = True
        else:
            digit = value
    if gap and digit is None:
        return None
    # 一百零五 is 105; 一百五 may be that or 150
    unclear = names_gaps and digit is not None and last > _TEN and total and not gap
    return None if unclear else total + (digit or 0.0)


def _word_ends(units: Sequence[Unit], position: int) -> list[int]:
    """Return the ends of the words from here on; a hyphen between two counts as a space."""
    ends: list[int] = []
    end = position
    while end < len(units) and len(ends) < _MAX_WORDS:
        hyphen = units[end].text == "-" and units[end].glued and bool(ends)
        if hyphen and end + 1 < len(units) and units[end + 1].glued:
            end += 1
        if units[end].kind is not UnitKind.WORD:
            break
        end += 1
        ends.append(end)
    return ends


def _spelled(units: Sequence[Unit]) -> str:
    return " ".join(unit.text for unit in units if unit.kind is UnitKind.WORD)


def _glued(units: Sequence[Unit]) -> str:
    return "".join(unit.text for unit in units)
