"""Commands that a person types and no model sees: they work when nothing else does."""

import enum
import re


class Command(enum.Enum):
    """What can be typed instead of a message."""

    # List the commands
    HELP = "/help"
    # Begin a new conversation; memories stay
    NEW = "/new"
    # What is remembered of whoever asks, and where it came from
    MEMORY = "/memory"
    # Which model answers here, and another one after it
    MODEL = "/model"
    # Which models there are
    MODELS = "/models"
    # How the device is
    STATUS = "/status"
    # Break off what is being done
    STOP = "/stop"
    # Everything safe and still, until the owner clears it
    ESTOP = "/estop"
    # Let the boards take a configuration that is looser than the one they have
    CONFIGURE = "/configure yes"
    # Let things move again
    ESTOP_CLEAR = "/estop clear"


# What takes one word more
_WITH_ARGUMENT = frozenset({Command.MODEL, Command.MODELS})

HELP_TEXT = """\
/help           this list
/new            begin a new conversation; memories stay
/memory         what I remember of you, and who said it
/model          which model answers here; /model NAME or /model hint:NAME changes it
/models         the models that there are
/status         how the device, the board and the model are
/stop           break off what I am doing
/estop          emergency stop: every output safe, nothing is changed until you clear it
/estop clear    let things move again; only the owner may
/configure yes  let a board take looser limits than it has; only the owner may
Anything else is a message to me."""


def command_of(text: str) -> Command | str | None:
    """The command; the text itself when it looks like one and is none; None for a message."""
    word = " ".join(text.split())
    for command in _WITH_ARGUMENT:
        # Names of models have slashes in them
        if re.fullmatch(rf"{command.value}( [^ ]+)?", word, re.IGNORECASE):
            return command
    if not word.startswith("/") or "/" in word[1:]:
        return None
    try:
        return Command(word.lower())
    except ValueError:
        # However it is mistyped in haste
        if word.lower().startswith(Command.ESTOP.value):
            return Command.ESTOP
        return None if " " in word else word


def argument_of(text: str) -> str:
    """The word that follows a command; empty where none does."""
    return " ".join(text.split()).partition(" ")[2]
