"""Files of the workspace that a script runs.

A yes, and an "always" even more, is for what would happen; that stands in these files as well.
Where a script is not understood, every file that it names counts.
"""

import re
import shlex
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from agent.errors import PathRefused
from agent.security.paths import HERE, open_beneath, parts_of

# More is no script that a person has read
MAX_FILES = 64
MAX_READ_BYTES = 256 * 1024
_NO_MODE, _EXECUTABLE = 0, 0o111
_WORD = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_PROGRAMS = frozenset({".sh", ".py", ".pl", ".awk", ".sed", ".jq", ".js", ".rb", ".lua", ".mk"})
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_INTERPRETERS = re.compile(
    r"(ba|da|z|k|a)?sh|python[0-9.]*|perl[0-9.]*|ruby[0-9.]*|lua[0-9.]*|node|nodejs|php[0-9.]*"
    r"|[gmn]?awk|sed|jq|bc|dc|ed|make|gmake|expect|tclsh|m4|\.|source"
)
# What stands before a command and starts it
_STARTERS = frozenset(
    {
        *("env", "nohup", "timeout", "nice", "ionice", "time", "exec", "command", "xargs"),
        *("setsid", "busybox", "stdbuf", "builtin", "then", "do", "else", "if", "while"),
        *("until", "!"),
    }
)
_MEANS_A_FILE = frozenset({"-f", "--file", "--from-file", "-i", "--include"})
_SEPARATOR = re.compile(r"[;&|(){}\n]+")
# Words are put together only when it runs
_UNCLEAR = re.compile(r"\$\(|`|<<|\beval\b|\$\{|\balias\b")


class _Search(Struct):
    """Search state: files found so far, and the folders that relative names start from."""

    workspace: Path
    bases: tuple[str, ...]
    found: dict[str, None] = field(default_factory=dict)
    left_bytes: int = MAX_READ_BYTES

    def script(self, text: str, *, is_shell: bool = True) -> None:
        """Add the files that a script runs, and those that they run."""
        for path in list(self._named(text, is_shell=is_shell)):
            if path in self.found or len(self.found) >= MAX_FILES:
                continue
            self.found[path] = None
            inner = self._content(path)
            folder = path.rpartition("/")[0] or HERE
            self._also_from([folder])
            self.script(inner, is_shell=_is_shell(path, inner))

    def _named(self, text: str, *, is_shell: bool = True) -> Iterator[str]:
        tokens = _tokens(text) if is_shell else []
        if tokens is None or (is_shell and _UNCLEAR.search(text)):
            for word in _WORD.findall(text):
                yield from self._files(word)
            return
        yield from self._run(tokens)
        for word in _WORD.findall(text):
            for path in self._files(word, f"{word.replace('.', '/')}.py"):
                if self._is_program(path):
                    yield path

    def _run(self, tokens: list[str]) -> Iterator[str]:
        """Yield the words at the places of a program or its script."""
        at_command, in_interpreter, before = True, False, ""
        for token in tokens:
            if _SEPARATOR.fullmatch(token):
                at_command, in_interpreter = True, False
            elif " " in token and not any(self._files(token)):
                # Words for another shell, or only words
                yield from self._named(token)
            elif before == "cd":
                self._also_from([folder for base in self.bases for folder in _below(base, token)])
            elif in_interpreter or at_command or before in _MEANS_A_FILE:
                files = list(self._files(token))
                yield from files
                is_made = token.rpartition("/")[2] in {"make", "gmake"}
                if at_command and is_made:
                    yield from (path for name in _MAKEFILES for path in self._files(name))
                starts = token in _STARTERS or token.startswith("-") or "=" in token
                if at_command and _INTERPRETERS.fullmatch(token.rpartition("/")[2]):
                    in_interpreter = True
                elif files:
                    # The rest is for the script, not run by anybody
                    in_interpreter = False
                at_command = at_command and (starts or token.isdigit())
            before = token

    def _files(self, *words: str) -> Iterator[str]:
        for word in words:
            for base in self.bases:
                for path in _below(base, word):
                    if stat.S_ISREG(_mode_of(self.workspace / path)):
                        yield path

    def _also_from(self, folders: Sequence[str]) -> None:
        """Names may be meant from these folders as well."""
        self.bases = tuple(dict.fromkeys((*self.bases, *folders)))

    def _is_program(self, path: str) -> bool:
        file = self.workspace / path
        mode = _mode_of(file)
        # What has gone since it was named may be back when the script runs
        is_executable = mode == _NO_MODE or bool(mode & _EXECUTABLE)
        return file.suffix in _PROGRAMS or is_executable or self._content(path).startswith("#!")

    def _content(self, path: str) -> str:
        try:
            with open_beneath(self.workspace, path) as file:
                content = file.read(self.left_bytes)
        except PathRefused:
            return ""
        self.left_bytes -= len(content)
        return content.decode(errors="replace")


def files_run(workspace: Path, folder: str, script: str) -> tuple[str, ...]:
    """Return the workspace files that a script in this folder runs."""
    search = _Search(workspace, (folder,))
    search.script(script)
    return tuple(search.found)


def _mode_of(file: Path) -> int:
    """Return the mode of a file; none where it cannot be looked at, and so cannot be run."""
    try:
        return file.stat().st_mode
    except OSError:
        return _NO_MODE


def _is_shell(path: str, content: str) -> bool:
    """Return true for a shell script; other scripts name their files by suffix."""
    first = content.partition("\n")[0]
    if first.startswith("#!"):
        return re.search(r"sh\b", first) is not None
    return Path(path).suffix not in _PROGRAMS - {".sh", ".mk"}


def _tokens(text: str) -> list[str] | None:
    """Return the words of a script as a shell reads them; None if a shell would fail."""
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";&|(){}")
    lexer.whitespace_split = True
    # The text is one line now, which a comment would swallow to its end; its words count as well
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return None


def _below(base: str, word: str) -> Iterator[str]:
    plain = word.removeprefix("./").removesuffix("/")
    joined = plain if base == HERE else f"{base}/{plain}"
    try:
        yield "/".join(parts_of(joined))
    except PathRefused:
        return
