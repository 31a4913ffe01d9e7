"""Programs that show what is in files, and reckon with it."""

from agent.security.grammars.base import Grammar, number, path, ranges, text

CAT = Grammar(flags="AbeEnstTuv", rest=path, least=1)
# Not -f of tail: it never ends
_LINES = {"-n": number, "-c": number, "--lines": number, "--bytes": number}
HEAD = Grammar(flags="qvz", valued=_LINES, rest=path, least=1)
TAIL = Grammar(flags="qvz", valued=_LINES, rest=path, least=1)
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
    long=frozenset({"--reverse", "--unique", "--numeric-sort", "--human-numeric-sort"}),
    valued={"-k": text, "--key": text, "-t": text, "--field-separator": text},
    rest=path,
    least=1,
)
# One operand only: the second is a file that it writes
UNIQ = Grammar(
    flags="cdDiuz",
    long=frozenset({"--count", "--repeated", "--unique", "--ignore-case"}),
    valued={"-f": number, "-s": number, "-w": number},
    words=(path,),
    least=1,
)
CUT = Grammar(
    flags="nsz",
    long=frozenset({"--complement", "--only-delimited"}),
    valued={
        "-b": ranges,
        "-c": ranges,
        "-f": ranges,
        "--fields": ranges,
        "-d": text,
        "--delimiter": text,
        "--output-delimiter": text,
    },
    rest=path,
    least=1,
)
# Not -c, which opens what it finds in a file
SHA256SUM = Grammar(flags="bt", long=frozenset({"--tag"}), rest=path, least=1)
# Not -l, which starts another program
DIFF = Grammar(
    flags="abBcdeEiNpqrstTuwyZ",
    long=frozenset({"--brief", "--recursive", "--unified", "--side-by-side", "--ignore-case"}),
    valued={"-U": number, "-C": number},
    words=(path, path),
    least=2,
)
