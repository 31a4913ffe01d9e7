"""What is raised when the emulated computer does not do what was asked."""


class GuestFailed(Exception):
    """It did not start, answer or do it in time; the text says which."""
