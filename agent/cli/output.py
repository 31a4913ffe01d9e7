"""Printing: text from outside is cleaned for a terminal, JSON is left as it is."""

import contextlib
import getpass
import json
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from agent.errors import BarnacleError
from agent.text.printable import printable_line, printable_text


class NoAnswer(BarnacleError, EOFError):
    """The person left a question by Ctrl-D, or the input ended."""


class CommandTerminal(Struct, frozen=True):
    """Shows and asks."""

    def say(self, text: str) -> None:
        say(text)

    def ask(self, question: str) -> str:
        return ask(question)

    def ask_secret(self, question: str) -> str:
        return ask_secret(question)


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
    return ask(f"{what}? [y/N] ").strip().lower() in {"y", "yes"}


def ask(question: str) -> str:
    """Return the typed line.

    Raises:
        NoAnswer: nothing was typed, and nothing will be.
    """
    with _answered():
        return input(question)


def ask_secret(question: str) -> str:
    """As `ask`, and the typed line is not shown."""
    with _answered():
        return getpass.getpass(question)


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    """Let Ctrl-C end the question at once: an event loop would only note it until the next line."""
    before = signal.getsignal(signal.SIGINT)
    # Where it is ignored, as behind `nohup`, it stays so; a thread may not change it
    is_heard = callable(before) and threading.current_thread() is threading.main_thread()
    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except EOFError as err:
        # The shell's prompt begins a line of its own
        say()
        raise NoAnswer("the input ended before an answer: nothing more was done") from err
    finally:
        if is_heard:
            signal.signal(signal.SIGINT, before)
