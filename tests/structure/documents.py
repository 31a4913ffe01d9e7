"""Documents: each link leads somewhere, and each command that they quote exists."""

import argparse
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from agent.cli.parser import parser
from tests.structure.sources import ROOT, files

MOST_README_LINES = 250
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_PROGRAM = re.compile(r"(?<![\w./-])(?:\./)?((?:scripts|image)/[a-z][a-z0-9-]*)(?![\w/.*-])")
# From the start of a line or of inline code: a shell's prompt and sudo may stand before it
_COMMAND = re.compile(r"^ *(?:\$ )?(?:sudo )?(?:\.venv/bin/)?barnacle +([^#\n]+)", re.MULTILINE)
# Of a table of places: a Python file, or a path; without what the reader fills in
_PLACE = re.compile(r"`([a-z_][\w./-]*(?:/[\w.-]*|\.py))`")
# Words that stand for something that the reader fills in
_PLACEHOLDER = re.compile(r"[A-Z{\[<\"'/.…]|.*[=|]")


def violations(root: Path = ROOT) -> Iterator[str]:
    """Name every dead link and every quoted command that does not exist."""
    for path in files(root):
        if path.suffix != ".md" or path.name == "CHANGELOG.md":
            continue
        text = (root / path).read_text(encoding="utf-8")
        yield from _dead_links(root, path, text)
        yield from _unknown_programs(root, path, text)
        yield from _unknown_commands(path, text)
    yield from _absent_places(root, root / "CONTRIBUTING.md")
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    if len(lines) > MOST_README_LINES:
        yield f"README.md: {len(lines)} lines, {MOST_README_LINES} are allowed"


def _dead_links(root: Path, path: Path, text: str) -> Iterator[str]:
    for target in _LINK.findall(_FENCE.sub("", text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = unquote(target).partition("#")
        place = (root / path).parent / name if name else root / path
        if not place.exists():
            yield f"{path}: no {target}"
        elif anchor and anchor not in _anchors(place):
            yield f"{path}: no heading for {target}"


def _absent_places(root: Path, page: Path) -> Iterator[str]:
    """Name each file of a table of places that is not there.

    A row names a file by its whole path; the files behind it lie beside it or in folders below.
    """
    lines = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    for row in (line for line in lines if line.startswith("|")):
        folder = root
        for name in _PLACE.findall(row):
            place = root / name
            if place.exists():
                folder = place.parent
            elif not any((above / name).exists() for above in (folder, folder.parent)):
                yield f"{page.name}: no {name}"


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def _unknown_programs(root: Path, path: Path, text: str) -> Iterator[str]:
    for name in sorted(set(_PROGRAM.findall(text))):
        place = root / name
        if not place.is_dir() and not os.access(place, os.X_OK):
            yield f"{path}: no program {name}"


def _unknown_commands(path: Path, text: str) -> Iterator[str]:
    fences = "\n".join(_FENCE.findall(text))
    for quoted in [fences, *_INLINE.findall(_FENCE.sub("", text))]:
        for line in _COMMAND.findall(quoted):
            # What follows these is another program, or what this one prints into
            words = re.split(r"[|;&>](?= )|\\$|\)", line)[0].replace("\\|", "|").split()
            if unknown := _unknown_word(_commands(), words):
                yield f"{path}: barnacle {line.strip()}: no {unknown}"


@cache
def _commands() -> argparse.ArgumentParser:
    return parser()


def _unknown_word(at: argparse.ArgumentParser, words: list[str]) -> str:
    """Return the first word that the command line does not know; empty where it knows them all."""
    for position, quoted in enumerate(words):
        word = quoted.strip("`,.:;[]")
        choices = _choices(at)
        if word.startswith("--"):
            if word.partition("=")[0] not in at._option_string_actions:
                return word
        elif word.startswith("{") or "|" in word:
            unknown = [one for one in re.split(r"[|,]", word.strip("{}")) if _is_new(one, choices)]
            return unknown[0] if unknown else ""
        elif choices and word in choices:
            return _unknown_word(choices[word], words[position + 1 :])
        elif _is_new(word, choices):
            return word
    return ""


def _is_new(word: str, choices: dict[str, argparse.ArgumentParser]) -> bool:
    return bool(choices) and word not in choices and not _PLACEHOLDER.match(word)


def _choices(at: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in at._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
