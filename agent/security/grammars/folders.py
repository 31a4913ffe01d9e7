"""Programs that list folders and identify files."""

from agent.security.grammars.base import Grammar, number, one_of, path, size, text, text_list

# In colours or not: nothing is started for it
WHEN = one_of("auto", "always", "never")

LS = Grammar(
    flags="aAbBcdDFghGHiklLmnNopqQrRsStuUvxX1",
    long=frozenset(
        {
            *("--all", "--almost-all", "--directory", "--full-time", "--human-readable", "--size"),
            *("--inode", "--recursive", "--reverse", "--group-directories-first", "--classify"),
            *(
                "--file-type",
                "--si",
                "--no-group",
                "--numeric-uid-gid",
                "--literal",
                "--quote-name",
            ),
            *("--ignore-backups", "--kibibytes", "--escape", "--author", "--zero", "--dereference"),
        }
    ),
    valued={
        "--sort": one_of("none", "size", "time", "version", "extension"),
        "--time": one_of("atime", "access", "use", "ctime", "status", "birth", "creation", "mtime"),
        "--time-style": one_of("full-iso", "long-iso", "iso", "locale"),
        "--format": one_of("across", "commas", "long", "single-column", "verbose", "vertical"),
        "--indicator-style": one_of("none", "slash", "file-type", "classify"),
        **dict.fromkeys(("-I", "--ignore", "--hide"), text),
        **dict.fromkeys(("-w", "--width", "-T", "--tabsize"), number),
        "--block-size": size,
    },
    attached={"--color": WHEN},
    rest=path,
)
STAT = Grammar(
    flags="fLt",
    long=frozenset({"--terse", "--dereference", "--file-system"}),
    valued={"-c": text, "--format": text, "--printf": text},
    rest=path,
    least=1,
)
# Without -z: it would unpack what it looks at; without -m and -f: files of its own
FILE = Grammar(
    flags="0bhikLNr",
    long=frozenset(
        {
            *("--brief", "--mime", "--mime-type", "--mime-encoding", "--extension"),
            *("--keep-going", "--no-dereference", "--dereference", "--no-pad", "--raw"),
        }
    ),
    valued={"-F": text, "--separator": text},
    rest=path,
    least=1,
)
DU = Grammar(
    flags="0abcDhHklLmPsSx",
    long=frozenset(
        {
            *("--all", "--bytes", "--human-readable", "--summarize", "--total", "--si", "--null"),
            *("--apparent-size", "--separate-dirs", "--one-file-system", "--inodes", "--time"),
            "--count-links",
        }
    ),
    valued={
        **dict.fromkeys(("-d", "--max-depth", "-t", "--threshold"), number),
        **dict.fromkeys(("-B", "--block-size"), size),
        "--exclude": text,
        "--time-style": one_of("full-iso", "long-iso", "iso"),
    },
    rest=path,
)


def _file_system(word: str) -> str:
    """Accept only the file system of the workspace."""
    return "" if word == "/" else path(word)


DF = Grammar(
    flags="ahHiklmPT",
    long=frozenset(
        {
            *("--all", "--human-readable", "--si", "--inodes", "--local", "--portability"),
            *("--print-type", "--total"),
        }
    ),
    valued={
        **dict.fromkeys(("-t", "--type", "-x", "--exclude-type"), text_list),
        **dict.fromkeys(("-B", "--block-size"), size),
    },
    attached={"--output": text_list},
    rest=_file_system,
)
PWD = Grammar(flags="LP", long=frozenset({"--logical", "--physical"}))
