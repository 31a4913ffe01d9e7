"""Programs that print files and compute over them."""

from agent.security.grammars.base import Grammar, number, one_of, path, ranges, text
from agent.security.grammars.folders import WHEN

_DIGITS = "0123456789"

CAT = Grammar(
    flags="AbeEnstTuv",
    long=frozenset(
        {
            *("--show-all", "--number-nonblank", "--show-ends", "--number", "--squeeze-blank"),
            *("--show-tabs", "--show-nonprinting"),
        }
    ),
    rest=path,
    least=1,
)
TAC = Grammar(
    flags="br",
    long=frozenset({"--before", "--regex"}),
    valued={"-s": text, "--separator": text},
    rest=path,
    least=1,
)
NL = Grammar(
    flags="p",
    valued={
        **dict.fromkeys(("-b", "-f", "-h", "--body-numbering", "-n", "--number-format"), text),
        **dict.fromkeys(("-s", "--number-separator", "-d"), text),
        **dict.fromkeys(("-i", "-l", "-v", "-w", "--number-width", "--line-increment"), number),
    },
    rest=path,
    least=1,
)
# Not -f of tail: it never ends
_LINES = {"-n": number, "-c": number, "--lines": number, "--bytes": number}
_HEADERS = frozenset({"--quiet", "--silent", "--verbose", "--zero-terminated"})
# A digit is an old way to say how many lines
HEAD = Grammar(flags=f"qvz{_DIGITS}", long=_HEADERS, valued=_LINES, rest=path, least=1)
TAIL = Grammar(flags=f"qvz{_DIGITS}", long=_HEADERS, valued=_LINES, rest=path, least=1)
# Here and elsewhere not --files0-from: names would come from where nobody looks
WC = Grammar(
    flags="clLmw",
    long=frozenset({"--bytes", "--chars", "--lines", "--words", "--max-line-length"}),
    rest=path,
    least=1,
)
# Not -o, which writes, and not --compress-program, which starts something
SORT = Grammar(
    flags="bcCdfghiMmnRrsuVz",
    long=frozenset(
        {
            *("--reverse", "--unique", "--numeric-sort", "--human-numeric-sort", "--ignore-case"),
            *("--stable", "--check", "--merge", "--version-sort", "--month-sort", "--random-sort"),
            *("--dictionary-order", "--general-numeric-sort", "--ignore-leading-blanks"),
            *("--ignore-nonprinting", "--zero-terminated", "--check=quiet"),
        }
    ),
    valued={"-k": text, "--key": text, "-t": text, "--field-separator": text},
    rest=path,
    least=1,
)
# One operand only: the second is a file that it writes
UNIQ = Grammar(
    flags="cdDiuz",
    long=frozenset(
        {
            *("--count", "--repeated", "--unique", "--ignore-case", "--all-repeated", "--group"),
            "--zero-terminated",
        }
    ),
    valued=dict.fromkeys(
        ("-f", "-s", "-w", "--skip-fields", "--skip-chars", "--check-chars"), number
    ),
    words=(path,),
    least=1,
)
CUT = Grammar(
    flags="nsz",
    long=frozenset({"--complement", "--only-delimited", "--zero-terminated"}),
    valued={
        **dict.fromkeys(("-b", "-c", "-f", "--bytes", "--characters", "--fields"), ranges),
        **dict.fromkeys(("-d", "--delimiter", "--output-delimiter"), text),
    },
    rest=path,
    least=1,
)
PASTE = Grammar(
    flags="sz",
    long=frozenset({"--serial", "--zero-terminated"}),
    valued={"-d": text, "--delimiters": text},
    rest=path,
    least=1,
)
JOIN = Grammar(
    flags="iz",
    long=frozenset({"--ignore-case", "--header", "--nocheck-order", "--zero-terminated"}),
    valued={
        **dict.fromkeys(("-1", "-2", "-j", "-a", "-v"), number),
        **dict.fromkeys(("-t", "-e", "-o"), text),
    },
    words=(path, path),
    least=2,
)
FOLD = Grammar(
    flags="bs",
    long=frozenset({"--bytes", "--spaces"}),
    valued={"-w": number, "--width": number},
    rest=path,
    least=1,
)
OD = Grammar(
    flags="abcdfilosvx",
    long=frozenset({"--output-duplicates"}),
    valued={
        **dict.fromkeys(("-A", "--address-radix"), one_of("d", "o", "x", "n")),
        **dict.fromkeys(("-j", "--skip-bytes", "-N", "--read-bytes", "-S"), number),
        **dict.fromkeys(("-t", "--format"), text),
    },
    attached={"-w": number, "--width": number},
    rest=path,
    least=1,
)
# Not -c, which opens what it finds in a file
SUM = Grammar(
    flags="btz",
    long=frozenset({"--tag", "--binary", "--text", "--zero"}),
    rest=path,
    least=1,
)
# Not -l, which starts another program
DIFF = Grammar(
    flags=f"abBcdeEiNnpPqrstTuvwyZ{_DIGITS}",
    long=frozenset(
        {
            *("--brief", "--recursive", "--side-by-side", "--text"),
            *("--ignore-case", "--ignore-all-space", "--ignore-space-change", "--new-file"),
            *("--ignore-blank-lines", "--ignore-trailing-space", "--ignore-tab-expansion"),
            *("--report-identical-files", "--strip-trailing-cr", "--suppress-common-lines"),
            *("--minimal", "--normal", "--show-c-function", "--left-column", "--expand-tabs"),
            "--no-dereference",
        }
    ),
    valued={
        **dict.fromkeys(("-U", "-C", "-W", "--width"), number),
        **dict.fromkeys(("-x", "--exclude", "-I", "--ignore-matching-lines"), text),
        **dict.fromkeys(("-L", "--label", "-F", "--show-function-line"), text),
    },
    attached={"--unified": number, "--context": number, "--color": WHEN},
    words=(path, path),
    least=2,
)
