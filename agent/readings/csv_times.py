"""Times of a foreign file: ISO with and without zone, seconds or milliseconds since 1970, a format.

A time without a zone is one of the given zone. In the hour that comes twice in autumn, a time that
is not later than the one before it is of the second one.
"""

from datetime import UTC, datetime, tzinfo

from msgspec import Struct, field

from agent.errors import BadArguments

# 1973 and 5138: smaller numbers are dates without signs, larger ones are milliseconds
_LEAST_EPOCH_S, _MOST_EPOCH_S = 1e8, 1e11
_MOST_EPOCH_MS = 1e14
_MS = 1000


class TimeReader(Struct):
    """Reads the times of one file.

    Args:
        pattern: as strptime has it; empty for ISO and for seconds or milliseconds since 1970.
    """

    zone: tzinfo
    pattern: str = ""
    # Of each reading, the last time of the hour that comes twice
    _twice: dict[str, datetime] = field(default_factory=dict)

    def read(self, text: str, reading: str = "") -> int:
        """Return the milliseconds since 1970.

        Raises:
            BadArguments: it is no time, or one that the zone does not have.
        """
        number = None if self.pattern else _number(text)
        if number is not None and _LEAST_EPOCH_S <= abs(number) < _MOST_EPOCH_MS:
            return round(number if abs(number) >= _MOST_EPOCH_S else number * _MS)
        at = self._parsed(text)
        if at.tzinfo is None:
            at = self._local(at, text, reading)
        # Whole microseconds: a float has too few digits for them
        passed = at - _EPOCH
        return (passed.days * 86_400 + passed.seconds) * _MS + round(passed.microseconds / _MS)

    def _parsed(self, text: str) -> datetime:
        try:
            if self.pattern:
                return datetime.strptime(text, self.pattern)  # noqa: DTZ007 - the zone comes next
            return datetime.fromisoformat(text)
        except ValueError as err:
            hint = f"is not {self.pattern}" if self.pattern else "is no time that is known"
            advice = "" if self.pattern else ": say how it is written, --format '%d.%m.%Y %H:%M'"
            raise BadArguments(f"{text!r} {hint}{advice}") from err

    def _local(self, naive: datetime, text: str, reading: str) -> datetime:
        first, second = (naive.replace(tzinfo=self.zone, fold=fold) for fold in (0, 1))
        if first.utcoffset() == second.utcoffset():
            return first
        there = first.astimezone(UTC).astimezone(self.zone).replace(tzinfo=None)
        if there != naive:
            raise BadArguments(f"{text!r} does not exist: the clock was put forward")
        before = self._twice.get(reading)
        if before is not None and naive <= before and before.date() == naive.date():
            return second
        self._twice[reading] = naive
        return first


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
