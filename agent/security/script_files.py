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
from agent.security.script_words import SEPARATOR, STARTERS, are_made_later

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
_MEANS_A_FILE = frozenset({"-f", "--file", "--from-file", "-i", "--include"})
# A shell is given a script as one word
_HANDS_ON = re.compile(r"sh\s[^;&|\n]*-[a-z]*c\b")
# Words are put together only when it runs
_UNCLEAR = re.compile(r"\$\(|`|<<|\beval\b|\$\{|\balias\b")


class _Search(Struct):
    """Search state: files found so far, and the folders that relative names start from.

    Args:
        is_open: only a run says which files are run besides these.
    """

    workspace: Path
    bases: tuple[str, ...]
    found: dict[str, None] = field(default_factory=dict)
    left_bytes: int = MAX_READ_BYTES
    is_open: bool = False

    def script(self, text: str, *, is_shell: bool = True) -> None:
        """Add the files that a script runs, and those that they run."""
        if is_shell:
            self.is_open |= self._is_open(text)
        for path in list(self._named(text, is_shell=is_shell)):
            if path in self.found:
                continue
            if len(self.found) >= MAX_FILES:
                self.is_open = True
                continue
            self.found[path] = None
            inner = self._content(path)
            folder = path.rpartition("/")[0] or HERE
            self._also_from([folder])
            self.script(inner, is_shell=_is_shell(path, inner))

    def _is_open(self, text: str) -> bool:
        tokens = _tokens(text)
        if tokens is None:
            # No shell would read it, or none as it is read here
            return True
        inner = [token for token in tokens if " " in token and not any(self._files(token))]
        is_for_a_shell = _HANDS_ON.search(text) is not None
        return are_made_later(tokens, self._is_folder) or (
            is_for_a_shell and any(map(self._is_open, inner))
        )

    def _is_folder(self, word: str) -> bool:
        paths = (path for base in self.bases for path in _below(base, word))
        return any(stat.S_ISDIR(_mode_of(self.workspace / path)) for path in paths)

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
            if SEPARATOR.fullmatch(token):
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
                starts = token in STARTERS or token.startswith("-") or "=" in token
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
        # What was not read may run something, too
        self.is_open |= not self.left_bytes
        return content.decode(errors="replace")


def files_run(workspace: Path, folder: str, script: str) -> tuple[str, ...]:
    """Return the workspace files that a script in this folder runs."""
    return tuple(_searched(workspace, folder, script).found)


def chooses_files(workspace: Path, folder: str, script: str) -> bool:
    """Return true if a script in this folder runs files that only its run says."""
    return _searched(workspace, folder, script).is_open


def _searched(workspace: Path, folder: str, script: str) -> _Search:
    search = _Search(workspace, (folder,))
    search.script(script)
    return search


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
