"""Options of the owner's commands: people, approvals, trust, platforms and updates."""

import argparse

from agent.cli.options import PROVENANCES, Commands, add, count, limit, provenance, text

# Names only: nothing of the agent is loaded for its help
_ROLES = ("owner", "user", "guest")


def add_admission(commands: Commands) -> None:
    _add_pair(commands)
    add(
        commands,
        "people",
        "List paired people, their accounts, and the groups that the agent listens to",
        examples="  barnacle people\n  barnacle people --json\n",
        json=True,
    )
    _add_revoke(commands)


def _add_pair(commands: Commands) -> None:
    pair = add(
        commands,
        "pair",
        "Create a one-time code that lets a person talk to the agent over a chat platform",
        examples="  barnacle pair                      the owner first, then a user\n"
        "  barnacle pair --role guest --name Anna\n"
        "  barnacle pair --for owner          another account of the owner\n"
        "  barnacle pair --wyoming 192.168.1.10   Home Assistant's voice assistant there\n"
        "  barnacle pair --device kitchen         another device of yours, of [devices.others]\n"
        "\n"
        "Send the code to the agent as `/pair CODE`, in a private chat, within 15 "
        "minutes.\n"
        "It works once. The owner may do everything; a request of a user or a guest "
        "asks the owner.\n",
        json=True,
    )
    pair.add_argument("--role", choices=_ROLES, help="role of the person who uses the code")
    pair.add_argument("--name", type=text, default="", help="name of the new person")
    pair.add_argument(
        "--for",
        dest="person",
        type=text,
        metavar="PERSON",
        help="add an account to this person, who is paired already",
    )
    pair.add_argument(
        "--wyoming",
        type=text,
        metavar="ADDRESS",
        help="let the voice assistant at this address in, without a code (default role: guest)",
    )
    pair.add_argument(
        "--device",
        type=text,
        metavar="NAME",
        help="let another device of [devices.others] in, without a code (default role: user)",
    )


def _add_revoke(commands: Commands) -> None:
    revoke = add(
        commands,
        "revoke",
        "Remove a person's access (takes effect with their next message)",
        examples="  barnacle revoke Anna\n  barnacle revoke --group telegram:-1001234\n"
        "  barnacle revoke --browser 1a2b3c4d\n",
    )
    which = revoke.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "person", nargs="?", type=text, help="name or id; `barnacle people` lists them"
    )
    which.add_argument(
        "--group", type=text, metavar="CHANNEL:ID", help="remove this group instead of a person"
    )
    which.add_argument(
        "--browser", type=text, metavar="ID", help="end one browser's session in the console"
    )


# Names only: nothing of the agent is loaded for its help
_EFFECTS = ("read", "write", "actuate", "hazard", "execute", "network", "spend", "erase")


def add_oversight(commands: Commands) -> None:
    _add_explain(commands)
    _add_audit(commands)
    _add_approvals(commands)
    _add_prompt(commands)
    _add_skills(commands)
    _add_mcp(commands)


def _add_explain(commands: Commands) -> None:
    explain = add(
        commands,
        "explain",
        "Show which rule decides a tool call, or decided one, and how to change it",
        examples="  barnacle explain board_gpio_write pin=pump value=on\n"
        "  barnacle explain board_gpio_write pin=pump value=on --provenance web\n"
        "  barnacle explain --row 17          a row that `barnacle audit tail` shows\n",
        json=True,
    )
    explain.add_argument("tool", nargs="?", type=text, help="name of the tool")
    explain.add_argument("arguments", nargs="*", type=text, metavar="name=value")
    explain.add_argument(
        "--provenance", choices=PROVENANCES, default="owner", metavar="SOURCE",
        help=f"least trusted source that the turn has read: {', '.join(PROVENANCES)} "
"(default: owner)",
    )  # fmt: skip
    explain.add_argument(
        "--effect", choices=_EFFECTS, metavar="EFFECT",
        help=f"effect of a tool that is not available now: {', '.join(_EFFECTS)}",
    )  # fmt: skip
    explain.add_argument("--row", type=count, metavar="NUMBER", help="row of the audit log")


def _add_audit(commands: Commands) -> None:
    audit = add(
        commands,
        "audit",
        "Show decisions and their results, and check that nobody changed the log",
        examples="  barnacle audit tail\n  barnacle audit tail --verdict deny --limit 50\n"
        "  barnacle audit tail --effects --tool 'board_*' --json\n  barnacle audit verify\n",
    )
    actions = audit.add_subparsers(dest="action", metavar="action", required=True)
    tail = add(
        actions,
        "tail",
        "Show the latest decisions and their results",
        examples="  barnacle audit tail --verdict ask\n  barnacle audit tail --provenance web\n",
        json=True,
    )
    limit(tail, 20)
    tail.add_argument("--tool", type=text, help="only this tool; * at the end matches any rest")
    tail.add_argument("--verdict", choices=("allow", "ask", "deny"), help="only these decisions")
    tail.add_argument("--effects", action="store_true", help="only effects that were carried out")
    provenance(tail, "only where this was the least trusted source")
    verify = add(
        actions,
        "verify",
        "Find rows that were changed, removed, inserted, moved or cut off",
        examples="  barnacle audit verify\n"
        "  barnacle audit verify --head 17:3f...  check for a row that you noted\n",
        json=True,
    )
    verify.add_argument("--head", type=text, metavar="NUMBER:HASH", help="row that must be present")


def _add_approvals(commands: Commands) -> None:
    approvals = add(
        commands,
        "approvals",
        "List and revoke the calls that you always allow",
        examples="  barnacle approvals list\n  barnacle approvals revoke 3fa9c1d2\n"
        "  barnacle approvals revoke --all\n",
    )
    actions = approvals.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List them with the day on which each expires", json=True)
    revoke = add(
        actions, "revoke", "Revoke approvals; the agent asks you again at once, while running too"
    )
    chosen = revoke.add_mutually_exclusive_group(required=True)
    chosen.add_argument("id", nargs="?", type=text, help="number that `list` shows before it")
    chosen.add_argument("--all", action="store_true", help="all of them")


def _add_prompt(commands: Commands) -> None:
    prompt = add(
        commands,
        "prompt",
        "Show what a model reads before every conversation, with sizes",
        examples="  barnacle prompt\n  barnacle prompt show AGENTS.md\n"
        "  barnacle prompt approve AGENTS.md 3fa9c1d2e4b75a60c7d8e9f0\n"
        "  barnacle prompt revoke AGENTS.md\n",
        json=True,
    )
    actions = prompt.add_subparsers(dest="action", metavar="action")
    named = {
        "show": "Show every character of a file, and its hash",
        "approve": "Add the file to the prompt as your own words, in its present form",
        "revoke": "Remove the file from the prompt",
    }
    for action, about in named.items():
        command = add(actions, action, about)
        command.add_argument("name", type=text, help="IDENTITY.md, SOUL.md, USER.md or AGENTS.md")
        if action == "approve":
            command.add_argument("hash", type=text, help="hash that `show` printed last")


def _add_skills(commands: Commands) -> None:
    skills = add(
        commands,
        "skills",
        "Show the skills, and approve those that you have read and trust",
        examples="  barnacle skills list\n  barnacle skills show watering\n"
        "  barnacle skills approve watering 3fa9c1d2e4b75a60c7d8e9f0\n"
        "  barnacle skills revoke watering\n",
    )
    actions = skills.add_subparsers(dest="action", metavar="action", required=True)
    add(
        actions,
        "list",
        "List them: approved, changed since approval, or refused and why",
        json=True,
    )
    named = {
        "show": "Show every character of a skill, and its hash",
        "approve": "Trust a skill as your own words, in its present form",
        "revoke": "Remove the approval: trust it like any other file",
    }
    for action, about in named.items():
        command = add(actions, action, about)
        command.add_argument("name", type=text, help="name of the skill")
        if action == "approve":
            command.add_argument("hash", type=text, help="hash that `show` printed last")


def _add_mcp(commands: Commands) -> None:
    mcp = add(
        commands,
        "mcp",
        "Show the tools of MCP servers, and choose those that the agent may use",
        examples="  barnacle mcp list\n"
        "  barnacle mcp approve weather       shows its tools and their hash\n"
        "  barnacle mcp approve weather 3fa9c1d2e4b75a60c7d8e9f0\n"
        "  barnacle mcp revoke weather\n"
        "  barnacle mcp serve --token-file ~/.barnacle-token   lends the agent to a program\n",
    )
    actions = mcp.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "Start every server and list its tools, with those that you approved",
        json=True)  # fmt: skip
    approve = add(actions, "approve", "Show all tools of a server, or approve those shown")
    approve.add_argument("server", type=text, help="name of the server in the configuration")
    approve.add_argument("hash", nargs="?", type=text, help="hash printed with them")
    approve.add_argument(
        "--tool", action="append", default=[], type=text, help="only this tool; may be repeated"
    )
    revoke = add(actions, "revoke", "Stop using a server's tools, or one of them")
    revoke.add_argument("server", type=text, help="name of the server")
    revoke.add_argument(
        "tool", nargs="?", type=text, help="the server's name for the tool; without it, all"
    )
    serve = add(actions, "serve", "Be an MCP server on standard input and output, for a program "
                "that is to use the running agent")  # fmt: skip
    serve.add_argument("--token-file", type=text, help="file with the token of a paired caller")
    serve.add_argument("--url", type=text, help="the gateway, where it is not in the configuration")


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
    recorded = add(
        actions,
        "record",
        "Write what a platform sends into a file, with secrets and names replaced",
        examples="  barnacle channel record discord\n"
        "  barnacle channel record whatsapp --seconds 60 --out whatsapp.jsonl\n",
    )
    recorded.add_argument("name", type=text, help="name of a configured platform")
    recorded.add_argument("--seconds", type=int, default=300, help="how long (default: 300)")
    recorded.add_argument("--out", type=text, help="the file (default: NAME.cassette.jsonl)")
    recorded.add_argument("--yes", action="store_true", help="do not ask first")


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


def add_readings(commands: Commands) -> None:
    """Add `readings`: what was recorded, for spreadsheets and programs."""
    readings = add(
        commands,
        "readings",
        "List the recorded sensors, inputs and outputs; export and import what was recorded",
        examples="  barnacle readings list\n"
        "  barnacle readings export --days 7 > week.csv\n"
        "  barnacle readings export climate.temperature --json\n"
        "  barnacle readings import history.csv --dry-run\n",
    )
    actions = readings.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List what is recorded, and how often", json=True)
    export = add(actions, "export", "Print what was recorded, as CSV or JSON", json=True)
    export.add_argument("reading", nargs="?", type=text, help="only this one, by its name")
    export.add_argument("--days", type=count, default=30, help="the last so many (default: 30)")
    from agent.cli.readings_options import add_import  # noqa: PLC0415 - many words for one action

    add_import(actions)
