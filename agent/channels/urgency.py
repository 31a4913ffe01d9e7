"""Recognition of commands that stop the agent: they must not wait, and need no name in a group."""

from agent.text.typed import SIGNS, as_typed

_URGENT = ("/stop", "/estop")


def is_urgent(text: str) -> bool:
    """Return true if the text must not wait, for example behind ten pictures."""
    return as_typed(text).lstrip().lower().startswith(_URGENT)


def is_for_everybody(text: str) -> bool:
    """Return true if the text, in a group, is for the agent without naming it."""
    said = as_typed(text).strip().lower()
    return said.rstrip(SIGNS) == "/stop" or said.startswith("/estop")
