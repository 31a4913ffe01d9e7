"""Programs that show what is in a folder, and what a file is."""

from agent.security.grammars.base import Grammar, number, one_of, path, text

LS = Grammar(
    flags="aAbBcdFghGiklLmnNopqQrRsStuUvxX1",
    long=frozenset(
        {
            *("--all", "--almost-all", "--directory", "--full-time", "--human-readable"),
            *("--inode", "--recursive", "--reverse", "--size", "--group-directories-first"),
            "--color=never",
        }
    ),
    valued={
        "--sort": one_of("none", "size", "time", "version", "extension"),
        "--time-style": one_of("full-iso", "long-iso", "iso"),
    },
    rest=path,
)
STAT = Grammar(flags="fLt", valued={"-c": text, "--format": text}, rest=path, least=1)
# Without -z: it would unpack what it looks at; without -m and -f: files of its own
FILE = Grammar(
    flags="bikN",
    long=frozenset({"--brief", "--mime", "--mime-type", "--mime-encoding"}),
    rest=path,
    least=1,
)
DU = Grammar(
    flags="abchkmsSx",
    long=frozenset({"--all", "--bytes", "--human-readable", "--summarize", "--total"}),
    valued={"-d": number, "--max-depth": number},
    rest=path,
)
DF = Grammar(flags="ahHiklmPT", long=frozenset({"--human-readable"}), rest=path)
