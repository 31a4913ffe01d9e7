"""Errors of the emulated computer."""


class GuestFailed(Exception):
    """It did not start, answer or do it in time; the text says which."""
