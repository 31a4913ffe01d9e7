"""The words of `pair`, `people` and `revoke`: who may talk to the agent."""

from agent.cli.words import Commands, add, text

# Names only: nothing of the agent is loaded for its help
_ROLES = ("owner", "user", "guest")


def add_admission(commands: Commands) -> None:
    pair = add(
        commands,
        "pair",
        "Make a code by which somebody is let in over a chat platform",
        examples="  barnacle pair                      the owner first, then a user\n"
        "  barnacle pair --role guest --name Anna\n"
        "  barnacle pair --for owner          another account of the owner\n"
        "\nThe code is written to the agent as `/pair CODE`, in a private chat within 15 minutes.\n"
        "It works once. An owner may everything; what a user or a guest wants done asks them.\n",
        json=True,
    )
    pair.add_argument("--role", choices=_ROLES, help="what the code makes of whoever uses it")
    pair.add_argument("--name", type=text, default="", help="what the new person is to be called")
    pair.add_argument(
        "--for", dest="person", type=text, metavar="PERSON", help="another account of this person"
    )
    add(
        commands,
        "people",
        "List who is let in, where they write from, and the groups that are listened to",
        examples="  barnacle people\n  barnacle people --json\n",
        json=True,
    )
    revoke = add(
        commands,
        "revoke",
        "Let somebody in no more, from the next message on",
        examples="  barnacle revoke Anna\n  barnacle revoke --group telegram:-1001234\n",
    )
    which = revoke.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "person", nargs="?", type=text, help="name or id; `barnacle people` lists them"
    )
    which.add_argument("--group", type=text, metavar="CHANNEL:ID", help="a group instead")
