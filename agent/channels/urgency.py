"""What a person writes that must not wait behind anything: the words that stop the agent."""

_URGENT = ("/stop", "/estop")


def is_urgent(text: str) -> bool:
    """Whether it is no use behind ten pictures."""
    return text.lstrip().lower().startswith(_URGENT)
