"""Programs that say what the machine and its clock show, and the one that only repeats."""

from collections.abc import Sequence

from agent.security.grammars.base import Grammar, one_of, path, text

_PRECISION = one_of("date", "hours", "minutes", "seconds", "ns")


def _format(word: str) -> str:
    """Anything else as an operand would set the clock."""
    return "" if word.startswith("+") else "only a format that begins with + may stand here"


def _any(words: Sequence[str]) -> str:
    del words
    return ""


# Not -s, which sets the clock, and not -f, which reads what nobody named
DATE = Grammar(
    flags="uR",
    long=frozenset({"--utc", "--rfc-email", "--iso-8601"}),
    valued={
        "-d": text,
        "--date": text,
        "-r": path,
        "--reference": path,
        "--rfc-3339": _PRECISION,
    },
    words=(_format,),
)
UNAME = Grammar(flags="asnrvmpio", long=frozenset({"--all"}))
UPTIME = Grammar(flags="ps", long=frozenset({"--pretty", "--since"}))
# It knows no files: every word is shown as it is
ECHO = Grammar(reads=_any)
