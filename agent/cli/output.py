"""Printing: text from outside is cleaned for a terminal, JSON is left as it is."""

import getpass
import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence

from msgspec import Struct

from agent.errors import BarnacleError
from agent.text.printable import printable_line, printable_text


class CommandTerminal(Struct, frozen=True):
    """Shows and asks."""

    def say(self, text: str) -> None:
        say(text)

    def ask(self, question: str) -> str:
        return input(question)

    def ask_secret(self, question: str) -> str:
        return getpass.getpass(question)


# One memory or one sentence of a peer; more is cut on the screen, never in JSON
_MAX_LINE_CHARS = 2000
_MAX_TEXT_CHARS = 1_000_000


def clean(text: str) -> str:
    """Text from outside as one harmless line."""
    return printable_line(text, _MAX_LINE_CHARS)


def say(text: str = "") -> None:
    """Print lines, cleaned."""
    print(printable_text(text, _MAX_TEXT_CHARS))


def say_json(value: object) -> None:
    """Print one JSON document, whole; letters of every language stay readable."""
    print(json_text(value))


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def say_table(rows: Iterable[Sequence[str]], indent: str = "") -> None:
    """Print rows whose columns line up."""
    cleaned = [[clean(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cleaned, strict=True)]
    for row in cleaned:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        print(f"{indent}{'  '.join(cells).rstrip()}")


def agreed(arguments: Namespace, what: str) -> bool:
    """Return true if the person agrees, by a word or by `--yes`."""
    if arguments.yes:
        return True
    if not sys.stdin.isatty():
        raise BarnacleError(f"{what}? This is no terminal to ask in: add --yes to confirm")
    return input(f"{what}? [y/N] ").strip().lower() in {"y", "yes"}
