"""Skill: a folder with a SKILL.md, checked as it is loaded; no part of it ever runs.

What was hashed and looked through is what is shown: a file is read once. What cannot be taken as it
is, is refused whole, with a reason.
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from agent.errors import BarnacleError, PathRefused
from agent.security.paths import open_beneath
from agent.text.printable import printable_line, spelled_out

# A line of base64 or hex as long as this is not for people to read
_BLOB = re.compile(r"[A-Za-z0-9+/=_-]{300,}")
# Of what was found: enough to recognise it
_SHOWN_CHARS = 60
# Formatting that is needed: it joins emoji and letters of some scripts
_JOINERS = frozenset("\u200c\u200d")
_KEPT_SAFE = (
    r"(?:api[ _-]?keys?|passwords?|passphrases?|credentials?|private keys?|seed phrases?|"
    r"(?:access|bot) tokens?|secret keys?|recovery codes?)"
)
_PIPED = "it pipes a download into a program"
_FORGET = (
    r"\b(?:ignore|disregard|forget|override)\b[^\n.]{0,40}\b(?:previous|prior|above|earlier|system|"
    r"safety)\b[^\n.]{0,30}\b(?:instruct|prompt|rule|order)"
)
_HIDE = (
    r"\b(?:do not|don'?t|never|without)\b[^\n.]{0,20}\b(?:tell|inform|show|mention|ask)\w*\b"
    r"[^\n.]{0,20}\b(?:user|owner|person|human)"
)
_SUSPICIOUS = (
    (
        _PIPED,
        r"(?:curl|wget|fetch)\b[^\n]{0,400}\|\s*(?:sudo\s+)?\S*(?:sh|python3?|perl|node|ruby)\b",
    ),
    (
        _PIPED,
        r"base64\s+(?:-d|--decode)[^\n]{0,200}\|\s*(?:sudo\s+)?\S*(?:sh|python3?|perl|node|ruby)\b",
    ),
    ("it runs a download", r"sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)"),
    ("it runs a download", r"\b(?:eval|source|iex)\b[^\n]{0,80}(?:curl|wget|iwr|downloadstring)"),
    ("it asks for credentials", rf"\b(?:send|give|tell|post|paste)\b[^\n.]{{0,60}}\b{_KEPT_SAFE}"),
    ("it asks for credentials", rf"\b(?:enter|share|upload|ask)\b[^\n.]{{0,60}}\b{_KEPT_SAFE}"),
    ("it reads a place with secrets", r"/\.(?:ssh|aws|gnupg|netrc)\b|\bid_(?:rsa|ed25519)\b"),
    ("it reads a place with secrets", r"/etc/shadow|/proc/\S*/environ|(?<![\w.])\.env\b"),
    ("it tells the reader to ignore other instructions", _FORGET),
    ("it wants to hide something from the person", _HIDE),
    ("it deletes or overwrites a disk", r"\brm\s+-[a-z]*[rf][a-z]*\s+[/~]|\bmkfs\b|\bdd\s+if="),
)
_PATTERNS = tuple((why, re.compile(pattern, re.IGNORECASE)) for why, pattern in _SUSPICIOUS)


def suspicion(text: str) -> str:
    """Return the reason to refuse this text; "" if nothing is known against it."""
    for char in text:
        if _is_hidden(char):
            return f"it contains the invisible character {spelled_out(char)}"
    # Full-width letters and ligatures read like others to a model
    plain = unicodedata.normalize("NFKC", text)
    if blob := _BLOB.search(plain):
        return f"it contains a long encoded text ({blob[0][:20]}...)"
    for why, pattern in _PATTERNS:
        # A line that goes on in the next one is one line to a shell
        if found := pattern.search(plain.replace("\\\n", " ")):
            return f"{why} ({spelled_out(found[0][:_SHOWN_CHARS])})"
    return ""


def _is_hidden(char: str) -> bool:
    if char in "\n\r\t" or char in _JOINERS:
        return False
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


MAIN = "SKILL.md"
# What any text of instructions with its references needs
MAX_FILES = 32
MAX_FILE_BYTES = 64 * 1024
MAX_TOTAL_BYTES = 256 * 1024
MAX_DEPTH = 3
MAX_DESCRIPTION_CHARS = 300
# More are no collection but a flood
MAX_SKILLS = 64
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,47}")
_FRONT = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_FIELD = re.compile(r"(name|description):\s*(.*(?:\n[ \t]+.*)*)")
# Everything else might be run by somebody
_TEXTS = frozenset({".md", ".txt"})


class SkillRefused(BarnacleError):
    """The folder is no skill, or a model must not see it."""


class Skill(Struct, frozen=True):
    """A skill in its current form.

    Args:
        digest: of every file with its name.
        trouble: why it is refused; then it has no files.
    """

    name: str
    description: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    trouble: str = ""


def skills_in(root: Path) -> Iterator[Skill]:
    """Yield every skill in a folder by name, refused ones too."""
    try:
        with os.scandir(root) as found:
            names = sorted(one.name for one in found if not one.name.startswith("."))
    except OSError:
        # There need not be such a folder
        return
    for name in names[:MAX_SKILLS]:
        yield skill_at(root, name)


def skill_at(root: Path, name: str) -> Skill:
    """Return one skill; `trouble` says why it cannot be used."""
    try:
        return _loaded(root, name)
    except (SkillRefused, PathRefused) as err:
        return Skill(printable_line(name, 48), trouble=printable_line(str(err), 300))
    except OSError as err:
        return Skill(printable_line(name, 48), trouble=f"it cannot be read: {err.strerror}")


def _loaded(root: Path, name: str) -> Skill:
    if not _NAME.fullmatch(name):
        raise SkillRefused("its folder must have a name of small letters, digits, - and _")
    paths = sorted(_paths(root / name, "", 0))
    if len(paths) > MAX_FILES:
        raise SkillRefused(f"it has more than {MAX_FILES} files")
    files: dict[str, str] = {}
    room = MAX_TOTAL_BYTES
    for path in paths:
        files[path] = _text(root, f"{name}/{path}")
        room -= len(files[path].encode())
        if room < 0:
            raise SkillRefused(f"it is larger than {MAX_TOTAL_BYTES // 1024} KB")
    if MAIN not in files:
        raise SkillRefused(f"it has no {MAIN}")
    return Skill(name, _description(name, files[MAIN]), files, _digest(files))


def _paths(folder: Path, above: str, depth: int) -> Iterator[str]:
    if folder.is_symlink() or not folder.is_dir():
        raise SkillRefused("it is not a plain folder")
    if depth > MAX_DEPTH:
        raise SkillRefused(f"its folders are deeper than {MAX_DEPTH}")
    with os.scandir(folder) as found:
        # One more than is allowed is enough to refuse it
        entries = [entry for _, entry in zip(range(MAX_FILES + 2), found, strict=False)]
    for entry in entries:
        shown = printable_line(f"{above}{entry.name}", 80)
        if entry.is_symlink():
            raise SkillRefused(f"{shown} is a link")
        if entry.is_dir(follow_symlinks=False):
            yield from _paths(folder / entry.name, f"{above}{entry.name}/", depth + 1)
        elif Path(entry.name).suffix.lower() not in _TEXTS:
            raise SkillRefused(f"{shown} is not .md or .txt: a skill holds only text")
        else:
            yield f"{above}{entry.name}"


def _text(root: Path, relative: str) -> str:
    with open_beneath(root, relative) as file:
        content = file.read(MAX_FILE_BYTES + 1)
    shown = printable_line(relative, 80)
    if len(content) > MAX_FILE_BYTES:
        raise SkillRefused(f"{shown} is larger than {MAX_FILE_BYTES // 1024} KB")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as err:
        raise SkillRefused(f"{shown} is not UTF-8") from err
    if text.startswith("#!"):
        raise SkillRefused(f"{shown} is a script")
    if why := suspicion(text):
        raise SkillRefused(f"{shown}: {why}")
    return text


def _description(name: str, text: str) -> str:
    front = _FRONT.match(text)
    if front is None:
        raise SkillRefused(f"{MAIN} does not begin with --- and the lines name: and description:")
    fields = {one[1]: _plain(one[2]) for one in _FIELD.finditer(front[1])}
    if fields.get("name") != name:
        raise SkillRefused(f"the name in {MAIN} differs from the folder's")
    if not (described := fields.get("description", "")):
        raise SkillRefused(f"{MAIN} has no description")
    return printable_line(described, MAX_DESCRIPTION_CHARS)


def _plain(value: str) -> str:
    """Return one line without YAML's quotes."""
    joined = " ".join(value.split())
    return joined.removeprefix(">-").removeprefix(">").removeprefix("|").strip().strip("\"'")


def _digest(files: Mapping[str, str]) -> str:
    whole = hashlib.sha256()
    for path, text in sorted(files.items()):
        for part in (path.encode(), text.encode()):
            # With their lengths, so that no text can be moved from one file to the next
            whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()
