"""The words of `explain`, `audit`, `approvals`, `prompt`, `skills` and `mcp`: what was decided."""

from agent.cli.words import PROVENANCES, Commands, add, count, limit, provenance, text

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
        "Say which rule decides a call of a tool, or has decided one, and how to change it",
        examples="  barnacle explain board_gpio_write pin=pump value=on\n"
        "  barnacle explain board_gpio_write pin=pump value=on --provenance web\n"
        "  barnacle explain --row 17          a row that `barnacle audit tail` shows\n",
        json=True,
    )
    explain.add_argument("tool", nargs="?", type=text, help="the tool's name")
    explain.add_argument("arguments", nargs="*", type=text, metavar="name=value")
    explain.add_argument(
        "--provenance", choices=PROVENANCES, default="owner", metavar="SOURCE",
        help=f"least trusted that was read: {', '.join(PROVENANCES)} (default: owner)",
    )  # fmt: skip
    explain.add_argument(
        "--effect", choices=_EFFECTS, metavar="EFFECT",
        help=f"of a tool that is not there now: {', '.join(_EFFECTS)}",
    )  # fmt: skip
    explain.add_argument("--row", type=count, metavar="NUMBER", help="a row of the audit log")


def _add_audit(commands: Commands) -> None:
    audit = add(
        commands,
        "audit",
        "See what was decided and done, and check that nobody changed the record of it",
        examples="  barnacle audit tail\n  barnacle audit tail --verdict deny --limit 50\n"
        "  barnacle audit tail --effects --tool 'board_*' --json\n  barnacle audit verify\n",
    )
    actions = audit.add_subparsers(dest="action", metavar="action", required=True)
    tail = add(
        actions,
        "tail",
        "Show the last decisions and what came of them",
        examples="  barnacle audit tail --verdict ask\n  barnacle audit tail --provenance web\n",
        json=True,
    )
    limit(tail, 20)
    tail.add_argument("--tool", type=text, help="only this one; a * at the end is any rest")
    tail.add_argument("--verdict", choices=("allow", "ask", "deny"), help="only these decisions")
    tail.add_argument("--effects", action="store_true", help="only what was really done")
    provenance(tail, "only where this was the least trusted that was read")
    verify = add(
        actions,
        "verify",
        "Find rows that were changed, removed, inserted, moved or cut off",
        examples="  barnacle audit verify\n  barnacle audit verify --head 17:3f...  a row that you "
        "have noted\n",
        json=True,
    )
    verify.add_argument(
        "--head", type=text, metavar="NUMBER:HASH", help="a row that has to be there"
    )


def _add_approvals(commands: Commands) -> None:
    approvals = add(
        commands,
        "approvals",
        'See and take back the calls that you said "always" to',
        examples="  barnacle approvals list\n  barnacle approvals revoke 3fa9c1d2\n"
        "  barnacle approvals revoke --all\n",
    )
    actions = approvals.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List them with the day on which each ends", json=True)
    revoke = add(actions, "revoke", "Be asked again, from now on, also by a running agent")
    chosen = revoke.add_mutually_exclusive_group(required=True)
    chosen.add_argument("id", nargs="?", type=text, help="what `list` shows before it")
    chosen.add_argument("--all", action="store_true", help="every one of them")


def _add_prompt(commands: Commands) -> None:
    prompt = add(
        commands,
        "prompt",
        "See what a model is told before every conversation, with sizes",
        examples="  barnacle prompt\n  barnacle prompt show AGENTS.md\n"
        "  barnacle prompt approve AGENTS.md 3fa9c1d2e4b75a60c7d8e9f0\n"
        "  barnacle prompt revoke AGENTS.md\n",
        json=True,
    )
    actions = prompt.add_subparsers(dest="action", metavar="action")
    named = {
        "show": "Show every character of a file, with its hash",
        "approve": "Have it in the prompt as your own words, exactly as it is now",
        "revoke": "Leave it out of the prompt",
    }
    for action, about in named.items():
        command = add(actions, action, about)
        command.add_argument("name", type=text, help="IDENTITY.md, SOUL.md, USER.md or AGENTS.md")
        if action == "approve":
            command.add_argument("hash", type=text, help="what `show` ended with")


def _add_skills(commands: Commands) -> None:
    skills = add(
        commands,
        "skills",
        "See the skills, and say which of them you have read and trust",
        examples="  barnacle skills list\n  barnacle skills show watering\n"
        "  barnacle skills approve watering 3fa9c1d2e4b75a60c7d8e9f0\n"
        "  barnacle skills revoke watering\n",
    )
    actions = skills.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List them: approved, changed since, or refused and why", json=True)
    named = {
        "show": "Show every character of one, with its hash",
        "approve": "Trust it as your own words, exactly as it is now",
        "revoke": "Trust it like a file of anybody again",
    }
    for action, about in named.items():
        command = add(actions, action, about)
        command.add_argument("name", type=text, help="its name")
        if action == "approve":
            command.add_argument("hash", type=text, help="what `show` ended with")


def _add_mcp(commands: Commands) -> None:
    mcp = add(
        commands,
        "mcp",
        "See the tools of MCP servers, and say which of them the agent may have",
        examples="  barnacle mcp list\n"
        "  barnacle mcp approve weather       shows them, with their hash\n"
        "  barnacle mcp approve weather 3fa9c1d2e4b75a60c7d8e9f0\n"
        "  barnacle mcp revoke weather\n",
    )
    actions = mcp.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "Start every server and list what it offers, and what of it you approved",
        json=True)  # fmt: skip
    approve = add(actions, "approve", "Show all of a server's tools, or approve what was shown")
    approve.add_argument("server", type=text, help="its name in the configuration")
    approve.add_argument("hash", nargs="?", type=text, help="what showing them ended with")
    approve.add_argument(
        "--tool", action="append", default=[], type=text, help="only this one; may be repeated"
    )
    revoke = add(actions, "revoke", "Have a server's tools, or one of them, no longer used")
    revoke.add_argument("server", type=text, help="its name")
    revoke.add_argument("tool", nargs="?", type=text, help="the server's name for it; all if none")
