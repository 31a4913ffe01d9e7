"""Every word of the command line, with help that teaches; nothing is done here."""

import argparse
from typing import NoReturn, TypeAlias

from agent import __version__

_ABOUT = "An AI agent that lives on a Raspberry Pi and owns an STM32 board."
_EXAMPLES = """\
examples:
  barnacle chat                      talk to the device in this terminal
  barnacle doctor                    what is wrong, and what to do about it
  barnacle check                     is the configuration right?
  barnacle board list                which boards are plugged in?
  barnacle estop                     emergency stop; --clear ends it
  barnacle run                       what the service runs: every channel, no terminal

The configuration is the file named by --config or BARNACLE_CONFIG, else
~/.config/barnacle/barnacle.toml, else /etc/barnacle/barnacle.toml; with none of them, defaults.
"""
# Names only: nothing of the agent is loaded for its help
_BACKENDS = ("sqlite", "document", "markdown", "lucid", "postgres", "none")
_PROVENANCES = ("owner", "user", "sensor", "model", "tool", "web")
_EFFECTS = ("read", "write", "actuate", "hazard", "execute", "network", "spend", "erase")
_Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"  # noqa: SLF001  # has no public name


class _Parser(argparse.ArgumentParser):
    """Help keeps its line breaks, options are never abbreviated, an error names the help."""

    def __init__(self, **options: object) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,  # type: ignore[arg-type]  # argparse gives every option its own type
        )

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nTry `{self.prog} --help`.\n")


def parser() -> argparse.ArgumentParser:
    """The parser; `command` (and `action`) of its result say what is to be done."""
    top = _Parser(prog="barnacle", description=_ABOUT, epilog=_EXAMPLES, parents=[_everywhere()])
    top.add_argument("--version", action="version", version=f"barnacle {__version__}")
    commands = top.add_subparsers(dest="command", metavar="command", title="commands")
    _add_agent(commands)
    _add_stop(commands)
    _add_looking(commands)
    _add_explain(commands)
    _add_audit(commands)
    _add_models(commands)
    _add_memory(commands)
    _add_board(commands)
    return top


def _everywhere() -> _Parser:
    """Options that may stand before or after the command."""
    shared = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = shared.add_argument_group("options of every command")
    group.add_argument("--config", metavar="FILE", help="configuration file to use")
    group.add_argument("--state-dir", metavar="DIR", help="folder of databases and memories")
    group.add_argument(
        "--debug", action="store_true", help="show the traceback of an unexpected error"
    )
    return shared


def _add(
    commands: _Commands, name: str, about: str, *, examples: str = "", json: bool = False
) -> _Parser:
    epilog = f"examples:\n{examples}" if examples else None
    added = commands.add_parser(
        name, help=about, description=f"{about}.", epilog=epilog, parents=[_everywhere()]
    )
    if json:
        added.add_argument("--json", action="store_true", help="print JSON for a program to read")
    return added


def _add_agent(commands: _Commands) -> None:
    _add(
        commands,
        "run",
        "Run the agent with every configured channel until it is stopped",
        examples="  barnacle run --config /etc/barnacle/barnacle.toml\n",
    )
    chat = _add(
        commands,
        "chat",
        "Talk to the agent in this terminal",
        examples="  barnacle chat\n  printf 'turn the led on\\n' | barnacle chat --plain\n",
    )
    chat.add_argument(
        "--plain", action="store_true", help="one answer per line of input, for pipes"
    )


def _add_stop(commands: _Commands) -> None:
    stop = _add(
        commands,
        "estop",
        "Emergency stop: every output safe, nothing is changed until it is cleared",
        examples="  barnacle estop\n  barnacle estop --clear\n",
    )
    stop.add_argument("--clear", action="store_true", help="let things move again")


def _add_looking(commands: _Commands) -> None:
    check = _add(
        commands,
        "check",
        "Check a configuration file without starting anything",
        examples="  barnacle check\n  barnacle check new.toml && mv new.toml barnacle.toml\n"
        "  barnacle check --example > barnacle.toml\n",
        json=True,
    )
    check.add_argument("file", nargs="?", help="the file; without it, the one that would be used")
    check.add_argument(
        "--example", action="store_true", help="print a file with every key and its default"
    )
    _add(
        commands,
        "status",
        "Show what is configured and what the running agent last said of itself",
        examples="  barnacle status\n  barnacle status --json | jq -r .agent.board.state\n",
        json=True,
    )
    _add(
        commands,
        "doctor",
        "Look for what is wrong and say what to do about it",
        examples="  barnacle doctor\n  barnacle doctor --json\n",
        json=True,
    )


def _add_explain(commands: _Commands) -> None:
    explain = _add(
        commands,
        "explain",
        "Say which rule decides a call of a tool, or has decided one, and how to change it",
        examples="  barnacle explain board_gpio_write pin=pump value=on\n"
        "  barnacle explain board_gpio_write pin=pump value=on --provenance web\n"
        "  barnacle explain --row 17          a row that `barnacle audit tail` shows\n",
        json=True,
    )
    explain.add_argument("tool", nargs="?", type=_text, help="the tool's name")
    explain.add_argument("arguments", nargs="*", type=_text, metavar="name=value")
    explain.add_argument(
        "--provenance", choices=_PROVENANCES, default="owner", metavar="SOURCE",
        help=f"least trusted that was read: {', '.join(_PROVENANCES)} (default: owner)",
    )  # fmt: skip
    explain.add_argument(
        "--effect", choices=_EFFECTS, metavar="EFFECT",
        help=f"of a tool that is not there now: {', '.join(_EFFECTS)}",
    )  # fmt: skip
    explain.add_argument("--row", type=_count, metavar="NUMBER", help="a row of the audit log")


def _add_audit(commands: _Commands) -> None:
    audit = _add(
        commands,
        "audit",
        "See what was decided and done, and check that nobody changed the record of it",
        examples="  barnacle audit tail\n  barnacle audit tail --verdict deny --limit 50\n"
        "  barnacle audit tail --effects --tool 'board_*' --json\n  barnacle audit verify\n",
    )
    actions = audit.add_subparsers(dest="action", metavar="action", required=True)
    tail = _add(
        actions,
        "tail",
        "Show the last decisions and what came of them",
        examples="  barnacle audit tail --verdict ask\n  barnacle audit tail --provenance web\n",
        json=True,
    )
    _limit(tail, 20)
    tail.add_argument("--tool", type=_text, help="only this one; a * at the end is any rest")
    tail.add_argument("--verdict", choices=("allow", "ask", "deny"), help="only these decisions")
    tail.add_argument("--effects", action="store_true", help="only what was really done")
    _provenance(tail, "only where this was the least trusted that was read")
    verify = _add(
        actions,
        "verify",
        "Find rows that were changed, removed, inserted, moved or cut off",
        examples="  barnacle audit verify\n  barnacle audit verify --head 17:3f...  a row that you "
        "have noted\n",
        json=True,
    )
    verify.add_argument(
        "--head", type=_text, metavar="NUMBER:HASH", help="a row that has to be there"
    )


def _add_models(commands: _Commands) -> None:
    models = _add(
        commands,
        "models",
        "List the models of the configured service, or the services that are known",
        examples="  barnacle models\n  barnacle models groq\n  barnacle models --services\n",
        json=True,
    )
    models.add_argument("service", nargs="?", type=_text, help="ask this one instead")
    models.add_argument("--services", action="store_true", help="list the services themselves")


def _add_memory(commands: _Commands) -> None:
    memory = _add(
        commands,
        "memory",
        "Look at what the agent remembers, and put it in order",
        examples="  barnacle memory list --category core\n"
        "  barnacle memory search 'my sister' --provenance owner\n"
        "  barnacle memory show sister\n  barnacle memory forget sister\n"
        "  barnacle memory export --output memories.md\n"
        "  barnacle memory migrate --from sqlite --to postgres\n",
    )
    actions = memory.add_subparsers(dest="action", metavar="action", required=True)
    _filters(listed := _add(actions, "list", "List memories, the newest first", json=True))
    _everyone(listed)
    _limit(listed, 100)
    _filters(search := _add(actions, "search", "Find memories by meaning and words", json=True))
    search.add_argument("query", type=_text, help="what to look for, in any language")
    _limit(search, 5)
    _person(show := _add(actions, "show", "Show everything about one memory", json=True))
    show.add_argument("key", type=_text, help="its key; `barnacle memory list` shows them")
    _filters(export := _add(actions, "export", "Write every memory as Markdown", json=True))
    _everyone(export)
    export.add_argument("--output", metavar="FILE", help="write here instead of to the terminal")
    _add(actions, "stats", "Show how many memories there are, of what kind and size", json=True)
    _add_memory_changes(actions)
    _add(actions, "rules", "Show in words by what a memory is found", json=True)


def _add_memory_changes(actions: _Commands) -> None:
    forget = _add(
        actions,
        "forget",
        "Forget memories for good",
        examples="  barnacle memory forget sister\n"
        "  barnacle memory forget --source https://example.org/page --yes\n",
    )
    _person(forget)
    forget.add_argument("keys", nargs="*", type=_text, metavar="key", help="which ones")
    forget.add_argument("--source", type=_text, help="everything from this page or file instead")
    forget.add_argument("--yes", action="store_true", help="do not ask")
    brought = _add(
        actions,
        "import",
        "Bring in a snapshot of ours or of ZeroClaw, or OpenClaw's MEMORY.md",
        examples="  barnacle memory import MEMORY_SNAPSHOT.md\n"
        "  barnacle memory import notes/ --person owner --provenance owner\n",
    )
    _person(brought)
    brought.add_argument("file", help="a file, or a folder with MEMORY.md and memory/")
    _provenance(brought, "who said what is in it, where it does not say so (default: web)")
    _add(actions, "rebuild", "Make the word index and the vectors anew from the memories")
    _add(actions, "snapshot", "Write everything into MEMORY_SNAPSHOT.md now")
    migrate = _add(
        actions,
        "migrate",
        "Carry all memories from one backend to another; the old one is left as it is",
        examples="  barnacle memory migrate --from sqlite --to postgres\n",
        json=True,
    )
    for option, name, about in (
        ("--from", "source", "where they are"),
        ("--to", "target", "where they are to be"),
    ):
        migrate.add_argument(
            option, dest=name, choices=_BACKENDS, required=True, metavar="BACKEND",
            help=f"{about}: {', '.join(_BACKENDS)}",
        )  # fmt: skip


def _add_board(commands: _Commands) -> None:
    board = _add(
        commands,
        "board",
        "See the boards and use one by hand",
        examples="  barnacle board list\n  barnacle board info\n"
        "  barnacle board call gpio_write pin=led value=on\n"
        "  barnacle board call mcu_temperature --json\n  barnacle board update\n",
    )
    actions = board.add_subparsers(dest="action", metavar="action", required=True)
    _add(actions, "list", "List serial ports and what is known of each", json=True)
    _port(_add(actions, "info", "Show what the board is and can do", json=True))
    configure = _add(
        actions,
        "configure",
        "Give the board the pins and limits of the configuration",
        examples="  barnacle board configure\n  barnacle board configure --yes\n",
    )
    _port(configure)
    configure.add_argument(
        "--yes", action="store_true", help="also where they are looser than what the board has"
    )
    _add_board_update(actions)
    call = _add(
        actions,
        "call",
        "Run one method of the board",
        examples="  barnacle board call gpio_write pin=led value=on\n"
        "  barnacle board call gpio_write pin=pump value=on --hold 5\n"
        "  barnacle board call adc_read pin=a0\n",
        json=True,
    )
    _port(call)
    call.add_argument("method", type=_text, help="its name; `barnacle board info` lists them")
    call.add_argument("arguments", nargs="*", type=_text, metavar="name=value")
    call.add_argument(
        "--hold",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="keep outputs on for so long, by renewing their lease",
    )


def _add_board_update(actions: _Commands) -> None:
    update = _add(
        actions,
        "update",
        "Put the firmware that came with this agent onto the board",
        examples="  barnacle board update\n  barnacle board update --port /dev/ttyACM0\n",
    )
    _port(update)
    update.add_argument("--force", action="store_true", help="even when it runs there already")
    update.add_argument("--image", metavar="FILE", help="this image instead of the one carried")


def _person(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--person", type=_text, default="owner", help="whose memories (default: owner)"
    )


def _everyone(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--everyone", action="store_true", help="all people's, groups' and devices' memories"
    )


def _filters(command: argparse.ArgumentParser) -> None:
    _person(command)
    command.add_argument("--category", type=_text, help="only these: core, daily, conversation")
    _provenance(command, "only what this source said")


def _provenance(command: argparse.ArgumentParser, about: str) -> None:
    command.add_argument(
        "--provenance", choices=_PROVENANCES, metavar="SOURCE",
        help=f"{about}: {', '.join(_PROVENANCES)}",
    )  # fmt: skip


def _limit(command: argparse.ArgumentParser, default: int) -> None:
    command.add_argument(
        "--limit", type=_count, default=default, help=f"at most this many (default: {default})"
    )


def _port(command: argparse.ArgumentParser) -> None:
    command.add_argument("--port", help="serial port to use instead of the configured one")
    command.add_argument(
        "--board", type=_text, metavar="NAME", help="which one, where there are several"
    )


def _text(word: str) -> str:
    """A word of the command line whose bytes were not UTF-8 is made so."""
    return word.encode(errors="surrogateescape").decode(errors="replace")


def _count(word: str) -> int:
    number = int(word)
    if not 1 <= number <= _MOST:
        raise argparse.ArgumentTypeError(f"must be from 1 to {_MOST}")
    return number


def _seconds(word: str) -> float:
    seconds = float(word)
    if not 0 <= seconds <= _LONGEST_HOLD_S:
        raise argparse.ArgumentTypeError(f"must be from 0 to {_LONGEST_HOLD_S}")
    return seconds


# More lines than anybody reads
_MOST = 10_000
# Somebody tries something out; what has to last is the agent's work
_LONGEST_HOLD_S = 3600
