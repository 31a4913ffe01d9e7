"""The words of `update`: what changes the whole system."""

import argparse

from agent.cli.words import Commands, add, text


def add_upkeep(commands: Commands) -> None:
    update = add(
        commands,
        "update",
        "Bring another version of the whole system onto a card of Barnacle, and try it",
        examples="  sudo barnacle update barnacle-0.2.0.update\n"
        "  sudo barnacle update https://example.org/barnacle-0.2.0.update\n"
        "  barnacle update status\n"
        "  sudo barnacle update try         start what waits (after --later)\n"
        "  sudo barnacle update commit      keep what is on trial without waiting\n"
        "  sudo barnacle update rollback    back to the version before\n"
        "\nIt is verified, written into the slot that does not run, and started once. Healthy for\n"
        "ten minutes it is kept; otherwise the version before starts again and tells why.\n"
        "Elsewhere than on a card a newer scripts/install does it.\n",
        json=True,
    )
    update.add_argument(
        "what",
        type=text,
        metavar="FILE|URL|status|try|commit|rollback",
        help="a version to bring, or what to do with the one that is there",
    )
    update.add_argument(
        "--allow-downgrade", action="store_true", help="also what is not newer than what runs"
    )
    update.add_argument(
        "--later", action="store_true", help="write it, and start it when told to try"
    )
    # Another place than the machine itself, to try it out
    update.add_argument("--root", default="/", help=argparse.SUPPRESS)
