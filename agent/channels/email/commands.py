"""Commands in a letter: looked for in subject and text alike.

Where there is one, nothing else of the letter is obeyed.
"""

import re

from agent.channels.email.quotes import own_lines
from agent.channels.platform import COMMANDS
from agent.text.typed import is_stop

# What takes words after it, and which ones
_ARGUMENTS = {
    "estop": r"(?:.*)",
    "model": r"(?: \S+)?",
    "models": r"(?: \S+)?",
    "pair": r"(?:@\w+)?(?: .*)?",
}
_NAMES = [name for name, _ in COMMANDS] + ["clear"]
_COMMAND = re.compile(
    "/(?:" + "|".join(f"{name}{_ARGUMENTS.get(name, '')}" for name in _NAMES) + "|configure yes)",
    re.IGNORECASE,
)
_STOP = re.compile(r"/(?:stop|estop(?! +clear\b).*)", re.IGNORECASE)
# Harmless wherever they stand, below a greeting for one; what loosens something comes first or not
_ANYWHERE = re.compile(rf"{_STOP.pattern}|/pair(?:@\w+)? .*", re.IGNORECASE)
# A command has a few words, a line of a letter may have any number
MAX_COMMAND_CHARS = 100
# A command is not looked for below so many lines
MAX_LOOKED_LINES = 50


def command_in(subject: str, text: str, *, is_answer: bool) -> str:
    """Return the command of a letter, alone; empty if there is none.

    Args:
        text: the sender's own words.
        is_answer: its subject may only repeat that of an earlier letter.
    """
    lines = [" ".join(line.split()) for line in own_lines(text)[:MAX_LOOKED_LINES]]
    found = [line for at, line in enumerate(lines) if _is_command(line, is_first=at == 0)]
    title = " ".join(subject.split())
    is_title_said = not is_answer or not lines or _stops(title)
    if is_title_said and not (is_answer and found) and _is_command(title, is_first=True):
        found.append(title)
    return next((one for one in found if _is_estop(one)), found[0] if found else "")


def is_a_command(text: str) -> bool:
    """Return true if the text is a command and nothing else."""
    return _is_command(text, is_first=True)


def _is_command(line: str, *, is_first: bool) -> bool:
    form = _COMMAND if is_first else _ANYWHERE
    is_command = form.fullmatch(line) is not None or is_stop(line)
    return len(line) <= MAX_COMMAND_CHARS and is_command


def _stops(line: str) -> bool:
    return _STOP.fullmatch(line) is not None or is_stop(line)


def _is_estop(command: str) -> bool:
    return command.lower().startswith("/estop") and _STOP.fullmatch(command) is not None
