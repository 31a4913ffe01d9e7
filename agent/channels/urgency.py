"""Recognition of commands that stop the agent: they must not wait, and need no name in a group."""

_URGENT = ("/stop", "/estop")


def is_urgent(text: str) -> bool:
    """Return true if the text must not wait, for example behind ten pictures."""
    return text.lstrip().lower().startswith(_URGENT)


def is_for_everybody(text: str) -> bool:
    """Return true if the text, in a group, is for the agent without naming it."""
    said = text.strip().lower()
    return said == "/stop" or said.startswith("/estop")
