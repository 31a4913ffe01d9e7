"""Unmet expectations of a trial."""


class Missed(Exception):
    """Not as it must be; the text says what."""


class NotTried(Exception):
    """It cannot be tried here; the text says why, and how it can."""


def expect(is_so: object, complaint: str) -> None:
    """Raises Missed where it is not so."""
    if not is_so:
        raise Missed(complaint)
