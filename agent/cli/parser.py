"""Parser of the command line and its help texts."""

import argparse

from agent import __version__
from agent.cli.backup_options import add_backup
from agent.cli.memory_options import add_memory
from agent.cli.options import Commands, Parser, add, everywhere, text
from agent.cli.owner_options import add_admission, add_oversight, add_readings, add_upkeep

_ABOUT = "An AI agent that lives on a Raspberry Pi and owns an STM32 board."
_EXAMPLES = """\
examples:
  barnacle setup                     set up the model service and chat platforms
  barnacle chat                      talk to the device in this terminal
  barnacle doctor                    find problems and how to fix them
  barnacle check                     check the configuration
  barnacle board list                list connected boards
  barnacle backup                    make one encrypted file of the whole device
  barnacle pair                      let a person in over a chat platform
  barnacle estop                     emergency stop; --clear ends it
  barnacle run                       run every channel, as the service does

Configuration: the file given by --config or BARNACLE_CONFIG, else
~/.config/barnacle/barnacle.toml, else /etc/barnacle/barnacle.toml; without a file, defaults.
"""


# What a service manager or a person starts and keeps: making the others takes a tenth of a start
_LASTING = frozenset({"run", "chat", "console"})


def parser(word: str = "") -> argparse.ArgumentParser:
    """The parser; `command` (and `action`) of its result say what is to be done.

    Args:
        word: the first one of the command line; a parser for `run` may know no other command.
    """
    top = Parser(prog="barnacle", description=_ABOUT, epilog=_EXAMPLES, parents=[everywhere()])
    top.add_argument("--version", action="version", version=f"barnacle {__version__}")
    commands = top.add_subparsers(dest="command", metavar="command", title="commands")
    _add_agent(commands)
    if word in _LASTING:
        return top
    _add_setup(commands)
    _add_migrate(commands)
    _add_stop(commands)
    _add_looking(commands)
    add_admission(commands)
    add_oversight(commands)
    _add_jobs(commands)
    _add_phrases(commands)
    add_readings(commands)
    _add_models(commands)
    add_memory(commands)
    _add_board(commands)
    add_backup(commands)
    add_upkeep(commands)
    return top


def _add_agent(commands: Commands) -> None:
    add(
        commands,
        "run",
        "Run the agent with every configured channel until stopped; `barnacle chat` attaches to it",
        examples="  barnacle run --config /etc/barnacle/barnacle.toml\n"
        "  barnacle run & barnacle chat\n",
    )
    chat = add(
        commands,
        "chat",
        "Talk to the agent in this terminal; starts one if none is running",
        examples="  barnacle chat\n"
        "  printf 'turn the led on\\n' | barnacle chat --plain\n"
        "  sudo usermod -aG barnacle NAME   gives a user of this machine access, not "
        "as the owner\n"
        "Ctrl-C stops an answer, Ctrl-D leaves. A running agent continues without "
        "you and keeps\n"
        "its messages for your next chat. Without one, the chat itself is the agent.\n",
    )
    console = add(
        commands,
        "console",
        "Serve pages for browsers: see the device, talk to it, switch its outputs",
        examples="  barnacle console                   where [console] of the agent's "
        "configuration says\n"
        "  barnacle console --listen 0.0.0.0:8476\n"
        "The agent needs a [console] table. A browser is let in by a code of "
        "`barnacle pair`, or by\n"
        "its owner from a chat: the page says how.\n",
    )
    console.add_argument(
        "--listen", type=text, default="", metavar="ADDRESS:PORT", help="listen here instead"
    )
    chat.add_argument(
        "--plain", action="store_true", help="print one answer per line of input, for pipes"
    )


def _add_setup(commands: Commands) -> None:
    add(
        commands,
        "setup",
        "Set up the model service and chat platforms; tries each answer at once",
        examples="  sudo barnacle setup                for the service of this machine\n"
        "  barnacle setup                     for an agent that you start yourself\n"
        "\n"
        "Enter accepts the value in brackets, Ctrl-C leaves; nothing is changed "
        "before the last\n"
        "question. Have the key of a model service ready, and for Telegram a token "
        "of @BotFather;\n"
        "each platform says what it needs. On a card you can write the same settings "
        "into\n"
        "barnacle.toml on the first partition, without a terminal.\n",
    )


def _add_migrate(commands: Commands) -> None:
    migrate = add(
        commands,
        "migrate",
        "Take over a whole agent of ZeroClaw, OpenClaw or nanobot",
        examples="  barnacle migrate ~/.zeroclaw         what would be taken, and what not\n"
        "  barnacle migrate ~/.openclaw --yes   take it; nothing of it acts by itself\n"
        "  sudo barnacle migrate ~ada/.nanobot --yes\n",
    )
    migrate.add_argument("folder", type=text, help="folder of the other agent")
    migrate.add_argument("--yes", action="store_true", help="take what was shown")


def _add_stop(commands: Commands) -> None:
    stop = add(
        commands,
        "estop",
        "Emergency stop: switch every output to its safe value and lock it until cleared",
        examples="  barnacle estop\n  barnacle estop --clear\n",
    )
    stop.add_argument("--clear", action="store_true", help="end the emergency stop")


def _add_looking(commands: Commands) -> None:
    check = add(
        commands,
        "check",
        "Check a configuration file without starting anything",
        examples="  barnacle check\n  barnacle check new.toml && mv new.toml barnacle.toml\n"
        "  barnacle check --example > barnacle.toml\n",
        json=True,
    )
    check.add_argument("file", nargs="?", help="file to check (default: the one in use)")
    check.add_argument(
        "--example", action="store_true", help="print a file with every key and its default"
    )
    add(
        commands,
        "status",
        "Show the configuration and the last status of the running agent",
        examples="  barnacle status\n  barnacle status --json | jq -r .agent.board.state\n",
        json=True,
    )
    doctor = add(
        commands,
        "doctor",
        "Find problems and say how to fix them",
        examples="  barnacle doctor\n"
        "  barnacle doctor --fix\n"
        "  barnacle doctor --json\n"
        "  barnacle doctor --report           a form about this Pi, to send to the developers\n"
        "  sudo barnacle doctor               the agent of this machine's service\n"
        "\n"
        "The exit status is 1 if a check failed; a warning is no failure.\n",
        json=True,
    )
    doctor.add_argument(
        "--report",
        action="store_true",
        help="print what the kernel found on this Pi, without anything secret, and what to try "
        "by hand",
    )
    doctor.add_argument(
        "--fix",
        action="store_true",
        help="repair first, and list each repair: missing folders, rights of the agent's "
        "files, a stale socket, damaged database indexes, a service that no longer "
        "hears its platforms",
    )


def _add_jobs(commands: Commands) -> None:
    jobs = add(
        commands,
        "jobs",
        "Show scheduled jobs and their last results",
        examples="  barnacle jobs list\n  barnacle jobs run heartbeat\n"
        "  barnacle jobs pause watering\n",
    )
    actions = jobs.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List jobs with their next run and last result", json=True)
    named = {
        "remove": "Remove a job",
        "pause": "Pause a job until you resume it",
        "resume": "Resume a paused job",
        "run": "Run a job once, now",
    }
    for action, about in named.items():
        add(actions, action, about).add_argument("name", type=text, help="name of the job")


def _add_phrases(commands: Commands) -> None:
    phrases = add(
        commands,
        "phrases",
        "Show the sentences that the agent has learned to understand without a model",
        examples="  barnacle phrases list\n"
        "  barnacle phrases list --person mei\n"
        "  barnacle phrases forget 'water the tomatoes'\n"
        "  barnacle phrases forget --person mei --all\n"
        "\n"
        "The agent learns a sentence when a model acts on it and you do not correct "
        "it. It asks\n"
        "before the first use without a model: yes keeps the phrase, no forgets it.\n",
    )
    actions = phrases.add_subparsers(dest="action", metavar="action", required=True)
    listed = add(actions, "list", "List phrases with their actions and last use", json=True)
    listed.add_argument("--person", type=text, help="only those of this person")
    forget = add(actions, "forget", "Forget a phrase, or all phrases of a person")
    forget.add_argument(
        "sentence", nargs="?", type=text, help="sentence as `barnacle phrases list` shows it"
    )
    forget.add_argument("--person", type=text, help="person it belongs to (default: owner)")
    forget.add_argument("--all", action="store_true", help="all phrases of that person")


def _add_models(commands: Commands) -> None:
    models = add(
        commands,
        "models",
        "List the models of a service, or the known services; try out the configured model",
        examples="  barnacle models\n  barnacle models groq\n  barnacle models --services\n"
        "  barnacle models check\n  barnacle models probe\n"
        "  sudo barnacle models local /srv/models/qwen3-4b-q4_k_m.gguf\n",
        json=True,
    )
    models.add_argument(
        "service",
        nargs="?",
        type=text,
        help="ask this service instead of the configured one; `probe` runs twenty tasks against "
        "the configured model, on a board in memory; `check` tries how the service speaks, in "
        "lines to report; `local` chooses the file of the device's own",
    )
    models.add_argument("file", nargs="?", type=text, help="model file (GGUF) for `local`")
    models.add_argument("--sha256", type=text, help="hash that the file must have, for `local`")
    models.add_argument("--context", type=int, help="window in tokens for `local` (default: 4096)")
    models.add_argument(
        "--services", action="store_true", help="list the services instead of models"
    )


def _add_board(commands: Commands) -> None:
    board = add(
        commands,
        "board",
        "List, inspect, wire, configure, update and call boards",
        examples="  barnacle board list\n  barnacle board info\n"
        "  barnacle board call gpio_write pin=led value=on\n"
        "  barnacle board call mcu_temperature --json\n  barnacle board update\n",
    )
    actions = board.add_subparsers(dest="action", metavar="action", required=True)
    add(actions, "list", "List serial ports and the boards on them", json=True)
    _port(add(actions, "info", "Show what a board is and its methods", json=True))
    configure = add(
        actions,
        "configure",
        "Send the pins and limits of the configuration to the board",
        examples="  barnacle board configure\n  barnacle board configure --yes\n",
    )
    _port(configure)
    configure.add_argument(
        "--yes", action="store_true", help="accept limits that are looser than those of the board"
    )
    _add_board_wizard(actions)
    _add_board_describe(actions)
    _add_board_update(actions)
    _add_board_install(actions)
    add(actions, "disable", "Cut the power of the outputs: switch every enable_gpio off")
    call = add(
        actions,
        "call",
        "Call one method of the board",
        examples="  barnacle board call gpio_write pin=led value=on\n"
        "  barnacle board call gpio_write pin=pump value=on --hold 5\n"
        "  barnacle board call adc_read pin=a0\n",
        json=True,
    )
    _port(call)
    call.add_argument(
        "method", type=text, help="name of the method; `barnacle board info` lists them"
    )
    call.add_argument("arguments", nargs="*", type=text, metavar="name=value")
    call.add_argument(
        "--hold",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="keep outputs on for this time, by renewing their lease",
    )


def _add_board_wizard(actions: Commands) -> None:
    _port(
        add(
            actions,
            "wizard",
            "Find what is wired to a board, try it, and write it into the configuration",
            examples="  barnacle board wizard\n  barnacle board wizard --port /dev/ttyACM0\n",
        )
    )


def _add_board_describe(actions: Commands) -> None:
    describe = add(
        actions,
        "describe",
        "Ask a board that runs MicroPython for its pins, and write a board file",
        examples="  barnacle board describe --port /dev/ttyACM0\n",
    )
    _port(describe)
    describe.add_argument("--force", action="store_true", help="replace the file that is there")


def _add_board_update(actions: Commands) -> None:
    update = add(
        actions,
        "update",
        "Install this agent's firmware on the board",
        examples="  barnacle board update\n  barnacle board update --port /dev/ttyACM0\n",
    )
    _port(update)
    update.add_argument(
        "--force",
        action="store_true",
        help="install even if the board already runs it, or a newer version",
    )
    update.add_argument("--image", metavar="FILE", help="install this image instead")


def _add_board_install(actions: Commands) -> None:
    install = add(
        actions,
        "install",
        "Put MicroPython and this agent's firmware onto a blank board",
        examples="  barnacle board install                       what is plugged in, and what for\n"
        "  barnacle board install weact_blackpill_f411  by its boot loader, or at its prompt\n"
        "  barnacle board install nucleo_f411re --port /dev/ttyACM0\n",
    )
    install.add_argument(
        "model", nargs="?", type=text, help="which board it is; without, say what is here"
    )
    _port(install)


def _port(command: argparse.ArgumentParser) -> None:
    command.add_argument("--port", help="serial port to use instead of the configured one")
    command.add_argument(
        "--board", type=text, metavar="NAME", help="name of the board, if there are several"
    )


def _seconds(word: str) -> float:
    seconds = float(word)
    if not 0 <= seconds <= _LONGEST_HOLD_S:
        raise argparse.ArgumentTypeError(f"must be from 0 to {_LONGEST_HOLD_S}")
    return seconds


# Somebody tries something out; what has to last is the agent's work
_LONGEST_HOLD_S = 3600
