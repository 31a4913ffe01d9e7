"""Recognition of commands that stop the agent and must not wait."""

_URGENT = ("/stop", "/estop")


def is_urgent(text: str) -> bool:
    """Return true if the text must not wait, for example behind ten pictures."""
    return text.lstrip().lower().startswith(_URGENT)
