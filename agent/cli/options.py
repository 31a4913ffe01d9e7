"""Base of every command: its parser, its options, its values."""

import argparse
import re
from functools import cache
from typing import NoReturn, TypeAlias

PROVENANCES = ("owner", "user", "sensor", "model", "tool", "web")
# More lines than anybody reads
_MOST = 10_000
_NO_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")
# An option between a method and its arguments: argparse takes none after it
_LATE_ARGUMENT = re.compile(r"unrecognized arguments: [A-Za-z_]\w*=")
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001  # has no public name


class Parser(argparse.ArgumentParser):
    """Help keeps its line breaks, options are never abbreviated, an error names the help."""

    def __init__(self, **options: object) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,  # type: ignore[arg-type]  # argparse gives every option its own type
        )

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}{_meant(message)}\nTry `{self.prog} --help`.\n")


def _meant(message: str) -> str:
    """Return what was meant by a choice that is none, or where an argument belongs."""
    if _LATE_ARGUMENT.match(message):
        return "\nWrite NAME=VALUE right behind the method, before any option."
    found = _NO_CHOICE.search(message)
    if found is None:
        return ""
    # A mistake needs it, and no start
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(found[1], re.findall(r"[\w-]+", found[2]), 1)
    return f"\nDid you mean `{near[0]}`?" if near else ""


@cache
def everywhere() -> Parser:
    """Options that may stand before or after the command; one for all, making them takes time."""
    shared = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("options of every command")
    group.add_argument("--config", metavar="FILE", help="configuration file to use")
    group.add_argument("--state-dir", metavar="DIR", help="folder of databases and memories")
    group.add_argument(
        "--debug", action="store_true", help="show the traceback of an unexpected error"
    )
    return shared


def add(
    commands: Commands, name: str, about: str, *, examples: str = "", json: bool = False
) -> Parser:
    epilog = f"examples:\n{examples}" if examples else None
    added = commands.add_parser(
        name, help=about, description=f"{about}.", epilog=epilog, parents=[everywhere()]
    )
    if json:
        added.add_argument("--json", action="store_true", help="print JSON for a program to read")
    return added


def provenance(command: argparse.ArgumentParser, about: str) -> None:
    command.add_argument(
        "--provenance", choices=PROVENANCES, metavar="SOURCE",
        help=f"{about}: {', '.join(PROVENANCES)}",
    )  # fmt: skip


def limit(command: argparse.ArgumentParser, default: int) -> None:
    command.add_argument(
        "--limit", type=count, default=default, help=f"at most this many (default: {default})"
    )


def text(word: str) -> str:
    """Return a word of the command line as valid UTF-8."""
    return word.encode(errors="surrogateescape").decode(errors="replace")


def count(word: str) -> int:
    number = int(word)
    if not 1 <= number <= _MOST:
        raise argparse.ArgumentTypeError(f"must be from 1 to {_MOST}")
    return number


def day(word: str) -> str:
    """Return a day as it is in dates of memories."""
    from datetime import date  # noqa: PLC0415 - for those who name one

    try:
        return date.fromisoformat(word).isoformat()
    except ValueError as err:
        raise argparse.ArgumentTypeError(f"{word} is no day such as 2026-11-30") from err
