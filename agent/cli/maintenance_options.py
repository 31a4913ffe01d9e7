"""Options of `channel`, `signal` and `update`: set-up and updates."""

import argparse

from agent.cli.options import Commands, add, text


def add_upkeep(commands: Commands) -> None:
    _add_channel(commands)
    _add_signal(commands)
    _add_update(commands)


def _add_channel(commands: Commands) -> None:
    channel = add(
        commands,
        "channel",
        "List, add and test chat platforms",
        examples="  barnacle channel list             list the available platforms\n"
        "  barnacle channel add telegram     for an agent that you start yourself\n"
        "  sudo barnacle channel add email   for the service of this machine\n"
        "  barnacle channel test             test every configured platform\n"
        "\n"
        "A platform is in use if the configuration has its table [channels.NAME]; "
        "remove the\n"
        "table to end that. People who write there have no access until you run "
        "`barnacle pair`.\n",
    )
    actions = channel.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List the available platforms, and the state of those in use", json=True)
    added = add(
        actions,
        "add",
        "Ask for a platform's settings, try them, and write them",
        examples="  barnacle channel add telegram\n"
        "  sudo barnacle channel add email\n"
        "\n"
        "Each answer is tried at the platform, and nothing is written before you "
        "agree. Secrets\n"
        "of the service become credentials that only root can read. To change a "
        "configured\n"
        "platform, run the command again: Enter keeps the value in brackets.\n",
    )
    added.add_argument(
        "name", type=text, help="name of the platform; `barnacle channel list` shows the names"
    )
    asks = "Ask each platform which account the agent has there; sends no message"
    for name, about in (("test", asks), ("doctor", "Same as test")):
        tried = add(actions, name, about)
        tried.add_argument(
            "name", nargs="?", type=text, help="test only this platform (default: all)"
        )


def _add_signal(commands: Commands) -> None:
    signal = add(
        commands,
        "signal",
        "Link the agent to a Signal account",
        examples="  barnacle signal link\n  barnacle signal link --name 'The greenhouse'\n",
    )
    actions = signal.add_subparsers(dest="action", metavar="action", required=True)
    link = add(actions, "link", "Show a QR code that Signal on a telephone scans")
    link.add_argument("--name", type=text, help="name that the telephone shows (default: Barnacle)")
    link.add_argument(
        "--data", metavar="DIR", help="folder of signal-cli, if its daemon does not run yet"
    )


def _add_update(commands: Commands) -> None:
    update = add(
        commands,
        "update",
        "Install another version of the system on a Barnacle card, on trial",
        examples="  sudo barnacle update barnacle-0.2.0.update\n"
        "  sudo barnacle update https://example.org/barnacle-0.2.0.update\n"
        "  barnacle update status\n"
        "  sudo barnacle update try         start the waiting version (after --later)\n"
        "  sudo barnacle update commit      keep the version on trial without waiting\n"
        "  sudo barnacle update rollback    return to the previous version\n"
        "\n"
        "The update is verified, written into the unused slot, and started once. If "
        "it is healthy\n"
        "for ten minutes it stays; otherwise the previous version starts again and "
        "says why.\n"
        "On other systems, run a newer scripts/install instead.\n",
        json=True,
    )
    update.add_argument(
        "what",
        type=text,
        metavar="FILE|URL|status|try|commit|rollback",
        help="file or URL of a version, or an action on the one that is there",
    )
    update.add_argument(
        "--allow-downgrade",
        action="store_true",
        help="accept a version that is not newer than the present one",
    )
    update.add_argument(
        "--later", action="store_true", help="write it now, start it with `barnacle update try`"
    )
    # Another place than the machine itself, to try it out
    update.add_argument("--root", default="/", help=argparse.SUPPRESS)
