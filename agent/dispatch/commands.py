"""Commands that a person types and no model sees: they work when nothing else does.

Each says who may: what is one's own anybody may, what is the device's only those the owner trusts.
"""

import enum
import re

from agent.dispatch.rank import Rank


class Command(enum.Enum):
    """What can be typed instead of a message."""

    # List the commands
    HELP = "/help"
    # Begin a new conversation; memories stay
    NEW = "/new"
    # The same
    CLEAR = "/clear"
    # What is remembered of whoever asks, and where it came from
    MEMORY = "/memory"
    # Which model answers here, and another one after it
    MODEL = "/model"
    # Which models there are
    MODELS = "/models"
    # How the device is
    STATUS = "/status"
    # How its boards are, and what is wired to them
    BOARD = "/board"
    # What the agent does at times, of whoever asks
    JOBS = "/jobs"
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

# Who may, of all who are let in
_LEAST = {
    Command.HELP: Rank.MEMBER,
    Command.NEW: Rank.MEMBER,
    Command.CLEAR: Rank.MEMBER,
    Command.STOP: Rank.MEMBER,
    Command.MEMORY: Rank.GUEST,
    Command.ESTOP: Rank.GUEST,
    Command.MODEL: Rank.USER,
    Command.MODELS: Rank.USER,
    Command.STATUS: Rank.USER,
    Command.BOARD: Rank.USER,
    Command.JOBS: Rank.USER,
    Command.CONFIGURE: Rank.OWNER,
    Command.ESTOP_CLEAR: Rank.OWNER,
}
NOT_ALLOWED_TEXT = "That is not yours to do here; /help lists what is."

_TOLD = (
    (Rank.MEMBER, "/help           this list"),
    (Rank.MEMBER, "/new            begin a new conversation; memories stay (/clear does the same)"),
    (Rank.GUEST, "/memory         what I remember of you, and who said it"),
    (
        Rank.USER,
        "/model          which model answers here; /model NAME or /model hint:NAME changes it",
    ),
    (Rank.USER, "/models         the models that there are"),
    (Rank.USER, "/status         how the device, the board and the model are"),
    (Rank.USER, "/board          how the boards are, and what is wired to them"),
    (Rank.USER, "/jobs           what I do at times for you, and what came of it"),
    (Rank.MEMBER, "/stop           break off what I am doing"),
    (
        Rank.GUEST,
        "/estop          emergency stop: every output safe, nothing changes until it is cleared",
    ),
    (Rank.OWNER, "/estop clear    let things move again"),
    (Rank.OWNER, "/configure yes  let a board take looser limits than it has"),
    (Rank.OWNER, "/pair new user  let somebody in; /pair says how"),
    (Rank.MEMBER, "Anything else is a message to me."),
)


def help_text(rank: Rank) -> str:
    """The commands that somebody of this rank may type."""
    return "\n".join(line for least, line in _TOLD if rank >= least)


HELP_TEXT = help_text(Rank.OWNER)


def may(command: Command | str | None, rank: Rank) -> bool:
    """Whether somebody of this rank may; what is no command is judged by others."""
    return not isinstance(command, Command) or rank >= _LEAST[command]


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
