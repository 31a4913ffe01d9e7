"""Programs that show the machine and its clock, and those that only repeat or count."""

import re
from collections.abc import Sequence

from agent.security.grammars.base import Grammar, one_of, path, text

_PRECISION = one_of("date", "hours", "minutes", "seconds", "ns")
_QUANTITY = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")


def _format(word: str) -> str:
    """Accept a format; any other operand would set the clock."""
    return "" if word.startswith("+") else "only a format that begins with + is allowed here"


def _quantity(word: str) -> str:
    return "" if _QUANTITY.fullmatch(word) else f"{word[:40]!r} is not a number"


def _any(words: Sequence[str]) -> str:
    del words
    return ""


# Not -s, which sets the clock, and not -f, which reads what nobody named
DATE = Grammar(
    flags="uR",
    long=frozenset({"--utc", "--universal", "--rfc-email", "--resolution"}),
    valued={
        "-d": text,
        "--date": text,
        "-r": path,
        "--reference": path,
        "--rfc-3339": _PRECISION,
    },
    attached={"-I": _PRECISION, "--iso-8601": _PRECISION},
    words=(_format,),
)
UNAME = Grammar(
    flags="asnrvmpio",
    long=frozenset(
        {
            *("--all", "--kernel-name", "--nodename", "--kernel-release", "--kernel-version"),
            *("--machine", "--processor", "--hardware-platform", "--operating-system"),
        }
    ),
)
UPTIME = Grammar(flags="ps", long=frozenset({"--pretty", "--since"}))
# It knows no files: every word is shown as it is
ECHO = Grammar(reads=_any)
# As many lines as a stream may have, and no more
SEQ = Grammar(
    flags="w",
    long=frozenset({"--equal-width"}),
    valued={"-s": text, "--separator": text},
    words=(_quantity, _quantity, _quantity),
    least=1,
)
