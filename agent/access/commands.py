"""Commands that a person types and no model sees: they work when nothing else does.

Each says who may: what is one's own anybody may, what is the device's only those the owner trusts.
"""

import enum
import re

from agent.access.roles import PersonRole
from agent.text.typed import SIGNS, as_typed, is_stop


class ChatCommand(enum.Enum):
    """Command that can be typed instead of a message."""

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
    # What files they, or their group, have sent
    FILES = "/files"
    # A reading of the past as a picture
    PLOT = "/plot"
    # Break off what is being done
    STOP = "/stop"
    # Everything safe and still, until the owner clears it
    ESTOP = "/estop"
    # Let the boards take a configuration that is looser than the one they have
    CONFIGURE = "/configure yes"
    # Let things move again
    ESTOP_CLEAR = "/estop clear"


# What lets things move that could not: nobody means it for a moment that they do not know
LOOSENING = frozenset({ChatCommand.CONFIGURE, ChatCommand.ESTOP_CLEAR})
# What takes one word more
_WITH_ARGUMENT = frozenset({ChatCommand.MODEL, ChatCommand.MODELS})
# What takes several
_WITH_WORDS = frozenset({ChatCommand.PLOT})

_BY_VALUE = {command.value: command for command in ChatCommand}

# Who may, of all who are let in
_LEAST = {
    ChatCommand.HELP: PersonRole.MEMBER,
    ChatCommand.NEW: PersonRole.MEMBER,
    ChatCommand.CLEAR: PersonRole.MEMBER,
    ChatCommand.STOP: PersonRole.MEMBER,
    ChatCommand.FILES: PersonRole.MEMBER,
    ChatCommand.MEMORY: PersonRole.GUEST,
    ChatCommand.ESTOP: PersonRole.GUEST,
    ChatCommand.MODEL: PersonRole.USER,
    ChatCommand.MODELS: PersonRole.USER,
    ChatCommand.STATUS: PersonRole.USER,
    ChatCommand.BOARD: PersonRole.USER,
    ChatCommand.JOBS: PersonRole.USER,
    ChatCommand.PLOT: PersonRole.USER,
    ChatCommand.CONFIGURE: PersonRole.OWNER,
    ChatCommand.ESTOP_CLEAR: PersonRole.OWNER,
}
NOT_ALLOWED_TEXT = "You may not use that command here. /help lists those that you may use."

_TOLD = (
    (PersonRole.MEMBER, "/help           show this list"),
    (PersonRole.MEMBER, "/new            begin a new conversation; memories stay (same as /clear)"),
    (PersonRole.GUEST, "/memory         show what I remember about you, and who said it"),
    (
        PersonRole.USER,
        "/model          show the model; /model NAME or /model hint:NAME changes it",
    ),
    (PersonRole.USER, "/models         list the models"),
    (PersonRole.USER, "/status         show the state of the device, the board and the model"),
    (PersonRole.USER, "/board          show the boards and what is wired to them"),
    (PersonRole.USER, "/jobs           show your scheduled jobs and their last results"),
    (PersonRole.USER, "/plot NAME 24h  draw a sensor: 30min, 7d, 4w, today or week; dark"),
    (PersonRole.MEMBER, "/files          list the files that you sent, the newest first"),
    (PersonRole.MEMBER, "/stop           cancel what I am doing"),
    (
        PersonRole.GUEST,
        "/estop          emergency stop: all outputs safe and locked until it is cleared",
    ),
    (PersonRole.OWNER, "/estop clear    release the emergency stop"),
    (PersonRole.OWNER, "/configure yes  allow looser limits on a board"),
    (PersonRole.OWNER, "/pair new user  give somebody access; /pair explains how"),
    (PersonRole.MEMBER, "Anything else is a message to me."),
)


def help_text(rank: PersonRole) -> str:
    """The commands that somebody of this rank may type."""
    return "\n".join(line for least, line in _TOLD if rank >= least)


HELP_TEXT = help_text(PersonRole.OWNER)


def may(command: ChatCommand | str | None, rank: PersonRole) -> bool:
    """Return true if somebody of this rank may use the command; true for what is no command."""
    return not isinstance(command, ChatCommand) or rank >= _LEAST[command]


def command_of(text: str) -> ChatCommand | str | None:
    """The command; the text itself when it looks like one and is none; None for a message."""
    if is_stop(text):
        return ChatCommand.STOP
    word = " ".join(as_typed(text).split())
    for command in _WITH_ARGUMENT:
        # Names of models have slashes in them
        if re.fullmatch(rf"{command.value}( [^ ]+)?", word, re.IGNORECASE):
            return command
    for command in _WITH_WORDS:
        if re.fullmatch(rf"{command.value}( .*)?", word, re.IGNORECASE):
            return command
    exact = word.lower()
    found = _BY_VALUE.get(exact) or _BY_VALUE.get(exact.rstrip(SIGNS))
    if found is not None and (found not in LOOSENING or exact == found.value):
        return found
    # However it is mistyped in haste
    if exact.startswith(ChatCommand.ESTOP.value):
        return ChatCommand.ESTOP
    is_command = word.startswith("/") and not {"/", " "} & {*word[1:]}
    return word if is_command else None


def argument_of(text: str) -> str:
    """The words that follow a command; empty where none does."""
    return " ".join(as_typed(text).split()).partition(" ")[2]
