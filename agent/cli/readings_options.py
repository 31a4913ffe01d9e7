"""Options of `barnacle readings import`."""

import argparse
from collections.abc import Sequence

from agent.cli.options import Commands, add, count, text


class ColumnPart(argparse.Action):
    """Collects what belongs to one column: its name, the reading, the unit.

    A part that the last column has already begins the next one.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep one part."""
        name = str(option_string).lstrip("-")
        # The default is one list for all who parse
        columns = [dict(one) for one in namespace.columns]
        if not columns or name in columns[-1]:
            columns.append({})
        columns[-1][name] = values or True
        namespace.columns = columns


def add_import(actions: Commands) -> None:
    command = add(
        actions,
        "import",
        "Take over readings from a CSV file",
        examples="  barnacle readings import week.csv            an export of `barnacle readings`\n"
        "  barnacle readings import history.csv         an export of Home Assistant's history\n"
        "  barnacle readings import log.csv --time date --value temp --reading room.temperature"
        " --unit °C\n"
        "  barnacle readings import log.csv --time date --value t1 --reading in --value t2"
        " --reading out --dry-run\n"
        "\n"
        "Nothing is stored if a row is not understood. The same file twice changes nothing.\n",
        json=True,
    )
    command.add_argument("file", type=text, help="CSV file")
    _add_columns(command)
    _add_form(command)
    command.add_argument(
        "--dry-run", action="store_true", help="show what would be stored, and store nothing"
    )
    command.add_argument(
        "--skip-bad", action="store_true", help="leave out the rows that are not understood"
    )
    command.add_argument(
        "--replace", action="store_true", help="where a time has a value already, take the file's"
    )


def _add_columns(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("columns", "again and again for several")
    group.add_argument(
        "--time", type=text, default="", metavar="COLUMN", help="name or number of the times"
    )
    for option, metavar, about in (
        ("--value", "COLUMN", "name or number of the values; an entity of Home Assistant"),
        ("--reading", "NAME", "reading that it becomes"),
        ("--unit", "UNIT", "its unit, such as °C"),
    ):
        group.add_argument(
            option, action=ColumnPart, type=text, dest="columns", metavar=metavar, help=about,
            default=[],
        )  # fmt: skip
    group.add_argument(
        "--switch", action=ColumnPart, nargs=0, dest="columns", help="it is on (1) or off (0)"
    )


def _add_form(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("form of the file", "found out where it is not given")
    group.add_argument(
        "--format",
        type=text,
        default="",
        metavar="FORMAT",
        help="of the times, as '%%d.%%m.%%Y %%H:%%M'",
    )
    group.add_argument(
        "--zone", type=text, default="", help="of times that say none, as Europe/Berlin"
    )
    group.add_argument("--delimiter", type=text, default="", help="sign between two columns")
    group.add_argument("--decimal", choices=("comma", "point"), help="sign before a fraction")
    group.add_argument("--encoding", type=text, default="", help="such as cp1252")
    group.add_argument(
        "--every", type=count, metavar="SECONDS", help="usual time between two values"
    )
    group.add_argument(
        "--until-next",
        action="store_true",
        help="a value lasts until the next one: the file has changes only",
    )
