"""Every word of the command line, with help that teaches; nothing is done here."""

import argparse

from agent import __version__
from agent.cli.admission import add_admission
from agent.cli.oversight import add_oversight
from agent.cli.upkeep import add_upkeep
from agent.cli.words import Commands, Parser, add, everywhere, limit, provenance, text

_ABOUT = "An AI agent that lives on a Raspberry Pi and owns an STM32 board."
_EXAMPLES = """\
examples:
  barnacle setup                     the model service and chat platforms, by questions
  barnacle chat                      talk to the device in this terminal
  barnacle doctor                    what is wrong, and what to do about it
  barnacle check                     is the configuration right?
  barnacle board list                which boards are plugged in?
  barnacle pair                      let somebody in over a chat platform
  barnacle estop                     emergency stop; --clear ends it
  barnacle run                       what the service runs: every channel, no terminal

The configuration is the file named by --config or BARNACLE_CONFIG, else
~/.config/barnacle/barnacle.toml, else /etc/barnacle/barnacle.toml; with none of them, defaults.
"""
# Names only: nothing of the agent is loaded for its help
_BACKENDS = ("sqlite", "document", "markdown", "lucid", "postgres", "none")


def parser() -> argparse.ArgumentParser:
    """The parser; `command` (and `action`) of its result say what is to be done."""
    top = Parser(prog="barnacle", description=_ABOUT, epilog=_EXAMPLES, parents=[everywhere()])
    top.add_argument("--version", action="version", version=f"barnacle {__version__}")
    commands = top.add_subparsers(dest="command", metavar="command", title="commands")
    _add_agent(commands)
    _add_setup(commands)
    _add_stop(commands)
    _add_looking(commands)
    add_admission(commands)
    add_oversight(commands)
    _add_jobs(commands)
    _add_phrases(commands)
    _add_models(commands)
    _add_memory(commands)
    _add_board(commands)
    _add_channel(commands)
    _add_signal(commands)
    add_upkeep(commands)
    return top


def _add_agent(commands: Commands) -> None:
    add(
        commands,
        "run",
        "Run the agent with every configured channel until it is stopped; `barnacle chat` attaches",
        examples="  barnacle run --config /etc/barnacle/barnacle.toml\n"
        "  barnacle run & barnacle chat\n",
    )
    chat = add(
        commands,
        "chat",
        "Talk to the agent in this terminal: to the one that runs, else to one of its own",
        examples="  barnacle chat\n  printf 'turn the led on\\n' | barnacle chat --plain\n"
        "  sudo usermod -aG barnacle NAME   lets somebody of this machine in, not as its owner\n"
        "Ctrl-C breaks off an answer, Ctrl-D leaves. An agent that runs goes on without you: what\n"
        "is still to come waits for your next chat. Without one, the chat is the agent itself.\n",
    )
    chat.add_argument(
        "--plain", action="store_true", help="one answer per line of input, for pipes"
    )


def _add_setup(commands: Commands) -> None:
    add(
        commands,
        "setup",
        "Set up the model service and chat platforms by questions, each answer tried out at once",
        examples="  sudo barnacle setup                for the service of this machine\n"
        "  barnacle setup                     for an agent that you start yourself\n"
        "\nEnter takes what stands in brackets, Ctrl-C leaves; nothing is changed before the last\n"
        "question. Have a key of a model service at hand, and for Telegram a token of @BotFather;\n"
        "it says of every platform what it needs. On a card the same is said by barnacle.toml on\n"
        "its first partition, without a terminal.\n",
    )


def _add_stop(commands: Commands) -> None:
    stop = add(
        commands,
        "estop",
        "Emergency stop: every output safe, nothing is changed until it is cleared",
        examples="  barnacle estop\n  barnacle estop --clear\n",
    )
    stop.add_argument("--clear", action="store_true", help="let things move again")


def _add_looking(commands: Commands) -> None:
    check = add(
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
    add(
        commands,
        "status",
        "Show what is configured and what the running agent last said of itself",
        examples="  barnacle status\n  barnacle status --json | jq -r .agent.board.state\n",
        json=True,
    )
    doctor = add(
        commands,
        "doctor",
        "Look for what is wrong and say what to do about it",
        examples="  barnacle doctor\n  barnacle doctor --fix\n  barnacle doctor --json\n"
        "  sudo barnacle doctor               the agent of this machine's service\n"
        "\nThe exit status is 1 when something failed; a warning is no failure.\n",
        json=True,
    )
    doctor.add_argument(
        "--fix",
        action="store_true",
        help="first put right what is the agent's own: missing folders, rights of its files, a "
        "stale socket, indexes of its databases, a service that hears nobody; says what it did",
    )


def _add_jobs(commands: Commands) -> None:
    jobs = add(
        commands,
        "jobs",
        "See what the agent does at times, and what came of it",
        examples="  barnacle jobs list\n  barnacle jobs run heartbeat\n"
        "  barnacle jobs pause watering\n",
    )
    actions = jobs.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List jobs, when each runs next, and what came of it last", json=True)
    named = {
        "remove": "Have a job no more",
        "pause": "Let a job rest until you resume it",
        "resume": "Have a paused job go on",
        "run": "Run a job once, now, whatever its time is",
    }
    for action, about in named.items():
        add(actions, action, about).add_argument("name", type=text, help="its name")


def _add_phrases(commands: Commands) -> None:
    phrases = add(
        commands,
        "phrases",
        "See which sentences the agent understands without a model because a model did them once",
        examples="  barnacle phrases list\n  barnacle phrases list --person mei\n"
        "  barnacle phrases forget 'water the tomatoes'\n"
        "  barnacle phrases forget --person mei --all\n"
        "\nThe first use without a model asks; a yes makes a phrase known, a no forgets it.\n",
    )
    actions = phrases.add_subparsers(dest="action", metavar="action", required=True)
    listed = add(actions, "list", "List phrases, what each does, and when it was used", json=True)
    listed.add_argument("--person", type=text, help="of this person alone")
    forget = add(actions, "forget", "Forget a phrase, or all of somebody's")
    forget.add_argument(
        "sentence", nargs="?", type=text, help="as `barnacle phrases list` shows it"
    )
    forget.add_argument("--person", type=text, help="whose (default: owner)")
    forget.add_argument("--all", action="store_true", help="every phrase of that person")


def _add_models(commands: Commands) -> None:
    models = add(
        commands,
        "models",
        "List the models of the configured service, or the services that are known",
        examples="  barnacle models\n  barnacle models groq\n  barnacle models --services\n",
        json=True,
    )
    models.add_argument("service", nargs="?", type=text, help="ask this one instead")
    models.add_argument("--services", action="store_true", help="list the services themselves")


def _add_memory(commands: Commands) -> None:
    memory = add(
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
    _filters(listed := add(actions, "list", "List memories, the newest first", json=True))
    _everyone(listed)
    limit(listed, 100)
    _filters(search := add(actions, "search", "Find memories by meaning and words", json=True))
    search.add_argument("query", type=text, help="what to look for, in any language")
    limit(search, 5)
    _person(show := add(actions, "show", "Show everything about one memory", json=True))
    show.add_argument("key", type=text, help="its key; `barnacle memory list` shows them")
    _filters(export := add(actions, "export", "Write every memory as Markdown", json=True))
    _everyone(export)
    export.add_argument("--output", metavar="FILE", help="write here instead of to the terminal")
    add(actions, "stats", "Show how many memories there are, of what kind and size", json=True)
    _add_memory_changes(actions)
    add(actions, "rules", "Show in words by what a memory is found", json=True)


def _add_memory_changes(actions: Commands) -> None:
    forget = add(
        actions,
        "forget",
        "Forget memories for good",
        examples="  barnacle memory forget sister\n"
        "  barnacle memory forget --source https://example.org/page --yes\n",
    )
    _person(forget)
    forget.add_argument("keys", nargs="*", type=text, metavar="key", help="which ones")
    forget.add_argument("--source", type=text, help="everything from this page or file instead")
    forget.add_argument("--yes", action="store_true", help="do not ask")
    brought = add(
        actions,
        "import",
        "Bring in a snapshot of ours or of ZeroClaw, or OpenClaw's MEMORY.md",
        examples="  barnacle memory import MEMORY_SNAPSHOT.md\n"
        "  barnacle memory import notes/ --person owner --provenance owner --yes\n",
    )
    _person(brought)
    brought.add_argument("file", help="a file, or a folder with MEMORY.md and memory/")
    provenance(brought, "whose words these are at most, whatever the file says (default: web)")
    brought.add_argument("--yes", action="store_true", help="do not ask, for owner and user")
    add(actions, "rebuild", "Make the word index and the vectors anew from the memories")
    add(actions, "snapshot", "Write everything into MEMORY_SNAPSHOT.md now")
    migrate = add(
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


def _add_board(commands: Commands) -> None:
    board = add(
        commands,
        "board",
        "See the boards and use one by hand",
        examples="  barnacle board list\n  barnacle board info\n"
        "  barnacle board call gpio_write pin=led value=on\n"
        "  barnacle board call mcu_temperature --json\n  barnacle board update\n",
    )
    actions = board.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List serial ports and what is known of each", json=True)
    _port(add(actions, "info", "Show what the board is and can do", json=True))
    configure = add(
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
    add(actions, "disable", "Take the outputs' power away: what each enable_gpio switches goes off")
    call = add(
        actions,
        "call",
        "Run one method of the board",
        examples="  barnacle board call gpio_write pin=led value=on\n"
        "  barnacle board call gpio_write pin=pump value=on --hold 5\n"
        "  barnacle board call adc_read pin=a0\n",
        json=True,
    )
    _port(call)
    call.add_argument("method", type=text, help="its name; `barnacle board info` lists them")
    call.add_argument("arguments", nargs="*", type=text, metavar="name=value")
    call.add_argument(
        "--hold",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="keep outputs on for so long, by renewing their lease",
    )


def _add_board_update(actions: Commands) -> None:
    update = add(
        actions,
        "update",
        "Put the firmware that came with this agent onto the board",
        examples="  barnacle board update\n  barnacle board update --port /dev/ttyACM0\n",
    )
    _port(update)
    update.add_argument("--force", action="store_true", help="even when it runs there already")
    update.add_argument("--image", metavar="FILE", help="this image instead of the one carried")


def _add_channel(commands: Commands) -> None:
    channel = add(
        commands,
        "channel",
        "Add a chat platform by questions, and see whether each takes the agent",
        examples="  barnacle channel list             those that there are\n"
        "  barnacle channel add telegram     for an agent that you start yourself\n"
        "  sudo barnacle channel add email   for the service of this machine\n"
        "  barnacle channel test             every configured one\n"
        "\nA platform is there where its table [channels.NAME] is in the configuration; take the\n"
        "table out to end it. Who writes there is a stranger until `barnacle pair` lets them in.\n",
    )
    actions = channel.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List the platforms that there are, and how those in use are", json=True)
    added = add(
        actions,
        "add",
        "Ask for what a platform needs, try it, and write it down",
        examples="  barnacle channel add telegram\n  sudo barnacle channel add email\n"
        "\nEach answer is tried where it counts, and nothing is written before you agree. Secrets\n"
        "of the service become credentials that root alone reads. Called again for a platform\n"
        "that is there, it changes it: Enter keeps what is in brackets.\n",
    )
    added.add_argument("name", type=text, help="its name; `barnacle channel list` shows them")
    asks = "Ask platforms whom they take the agent for; nothing is sent to anybody"
    for name, about in (("test", asks), ("doctor", "The same as test")):
        tried = add(actions, name, about)
        tried.add_argument("name", nargs="?", type=text, help="only this one; else all of them")


def _add_signal(commands: Commands) -> None:
    signal = add(
        commands,
        "signal",
        "Link the agent to a Signal account",
        examples="  barnacle signal link\n  barnacle signal link --name 'The greenhouse'\n",
    )
    actions = signal.add_subparsers(dest="action", metavar="action", required=True)
    link = add(actions, "link", "Show a QR code that Signal on a telephone scans")
    link.add_argument("--name", type=text, help="what the telephone calls it (default: Barnacle)")
    link.add_argument(
        "--data", metavar="DIR", help="signal-cli's folder, where its daemon does not run yet"
    )


def _person(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--person", type=text, default="owner", help="whose memories (default: owner)"
    )


def _everyone(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--everyone", action="store_true", help="all people's, groups' and devices' memories"
    )


def _filters(command: argparse.ArgumentParser) -> None:
    _person(command)
    command.add_argument("--category", type=text, help="only these: core, daily, conversation")
    provenance(command, "only what this source said")


def _port(command: argparse.ArgumentParser) -> None:
    command.add_argument("--port", help="serial port to use instead of the configured one")
    command.add_argument(
        "--board", type=text, metavar="NAME", help="which one, where there are several"
    )


def _seconds(word: str) -> float:
    seconds = float(word)
    if not 0 <= seconds <= _LONGEST_HOLD_S:
        raise argparse.ArgumentTypeError(f"must be from 0 to {_LONGEST_HOLD_S}")
    return seconds


# Somebody tries something out; what has to last is the agent's work
_LONGEST_HOLD_S = 3600
