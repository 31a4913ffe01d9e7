"""The environment of a child process: made from a fixed list, never from our own.

The agent's own environment is never passed on; its own programs get a few names of it. The
configuration may add a few names that only change how text looks, and the tokens of an MCP server.
Names that make a program load, run or trust something else are refused.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from agent.errors import CommandRefused
from agent.text.printable import printable_line

# Only folders of the system, which nobody but root writes to
PATH = "/usr/bin:/bin"
# What every sandbox has empty and for itself: the workspace would decide by its .jq, .magic and
# .gitconfig
SANDBOX_HOME = Path("/tmp")  # noqa: S108 - each sandbox has its own
# Text is UTF-8, and messages are the ones every model has read
LANG = "C.UTF-8"
# They change how numbers, times and tables look, and nothing else
ADDABLE = frozenset(
    {"COLUMNS", "LC_COLLATE", "LC_NUMERIC", "LC_TIME", "LINES", "NO_COLOR", "TERM", "TZ"}
)
# Where our own programs find the agent's files and the service's credentials, and how they tell
# times: no key
_PASSED = (
    *("PATH", "HOME", "LANG", "TZ", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"),
    *("BARNACLE_CONFIG", "BARNACLE_STATE_DIR", "BARNACLE_MODEL_DIR"),
)
MAX_VALUE_CHARS = 128
_MAX_SHOWN_CHARS = 40
# A server of somebody's needs its tokens by names of its own. These make a program load, run or
# trust something else, whatever their rest is
_STEERING = re.compile(
    r"LD_|DYLD_|PYTHON|GIT_|NODE_|NPM_|DENO_|BUN_|UV_|PIP_|BASH|PERL|RUBY|GEM_|BUNDLE_|JAVA_|JDK_"
    r"|DOTNET_|MALLOC_|GLIBC_|GCONV_|SSL_|SSH_|OPENSSL_|CURL_|REQUESTS_|LC_|XDG_|BARNACLE_"
)
_STEERING_NAMES = frozenset(
    {
        *(
            "PATH",
            "HOME",
            "LANG",
            "LANGUAGE",
            "SHELL",
            "USER",
            "LOGNAME",
            "TMPDIR",
            "PWD",
            "OLDPWD",
        ),
        *(
            "ENV",
            "SHELLOPTS",
            "PS4",
            "PROMPT_COMMAND",
            "IFS",
            "CDPATH",
            "CLASSPATH",
            "GREP_OPTIONS",
        ),
        *("PAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "LESSCLOSE", "MANPAGER", "TERMINFO"),
        *("NLSPATH", "LOCPATH", "HOSTALIASES", "RES_OPTIONS", "LOCALDOMAIN", "GOFLAGS", "GODEBUG"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY", "NOTIFY_SOCKET"),
    }
)
# As such names are written; what is not is as good as forbidden
_SERVER_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


def child_environment(home: Path, added: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the whole environment of a child process.

    Raises:
        CommandRefused: a name or a value may not be added.
    """
    added = added or {}
    for name, value in added.items():
        if complaint := complaint_about(name, value):
            raise CommandRefused(complaint)
    return {**added, "PATH": PATH, "LANG": LANG, "HOME": str(home)}


def own_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a program of ours needs of the agent's environment."""
    return {name: environ[name] for name in _PASSED if name in environ}


def complaint_about(name: str, value: str) -> str:
    """Return the reason to refuse this variable; "" if it is allowed."""
    if name not in ADDABLE:
        shown = printable_line(name, _MAX_SHOWN_CHARS)
        return f"{shown} may not be in the environment of a program: only {', '.join(names())} may"
    # A zone is looked up as a file: never one outside the system's own
    is_path = name == "TZ" and (value.startswith((":", "/")) or ".." in value)
    if is_path or len(value) > MAX_VALUE_CHARS or not value.isprintable():
        return f"{name} has a value that cannot be used in the environment of a program"
    return ""


def names() -> list[str]:
    return sorted(ADDABLE)


def complaint_about_server(name: str) -> str:
    """Return the reason to keep this variable from the owner's server; "" if it is allowed."""
    shown = printable_line(name, _MAX_SHOWN_CHARS)
    if not _SERVER_NAME.fullmatch(name):
        return f"{shown!r} must be a name of capital letters, digits and _"
    if name in _STEERING_NAMES or _STEERING.match(name):
        return f"{shown} can make a program load, run or trust something else"
    return ""
