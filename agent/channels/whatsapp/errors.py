"""Failures of the platform, sorted by their code, not by HTTP status.

The sentences say what a person has to do; nothing of the platform's own texts is repeated.
"""

from agent.errors import ChannelError, ChannelRefused, ChannelUnavailable, MessageRefused

MAX_RETRY_S = 3600.0
# One message in 6 s to the same person, after a short burst
PAIR_RETRY_S = 10.0
# All messages of a number, or calls of an app
RATE_RETRY_S = 30.0
# People have blocked or reported the number: it may write less for a while
SPAM_RETRY_S = 900.0
_TOO_MANY, _NOT_OURS, _SERVER_ERRORS = 429, 401, 500
_RETRY_S = {
    4: RATE_RETRY_S,
    429: RATE_RETRY_S,
    80007: RATE_RETRY_S,
    130429: RATE_RETRY_S,
    131048: SPAM_RETRY_S,
    131056: PAIR_RETRY_S,
}
_WINDOW = (
    "WhatsApp lets the agent write only within 24 hours of a person's last message: "
    "they have to write to it first"
)
_WINDOWS_OVER = frozenset({470, 131047})
_NEVER = {
    131026: "WhatsApp cannot deliver to this person: no account, or it is too old, or it blocks us",
    131030: "this person is not on the test number's list: add them at the app's API Setup",
    131050: "this person wants no such messages",
    131051: "WhatsApp takes no message of this kind",
    131053: "WhatsApp does not take this file",
}
_NO_RIGHT = (
    "the token is wrong, has expired or may not do this: make one that lasts for a system user of "
    "the business, with whatsapp_business_messaging, and put it into channels.whatsapp.token_file"
)
_PERSON = {
    3: _NO_RIGHT,
    10: _NO_RIGHT,
    190: _NO_RIGHT,
    131005: _NO_RIGHT,
    368: "the business is locked for breaking a rule: look at its account quality page",
    131031: "the business is locked: look at its account quality page",
    131042: "the business owes money or has no way to pay: look at its billing page",
    131045: "the number is not registered: register it at the app's API Setup",
    133010: "the number is not registered: register it at the app's API Setup",
}
_PERMISSIONS = range(200, 300)
# An invalid parameter; with this subcode it is the number that is not there
_INVALID, _NOT_THERE = 100, 33
_PASSING = frozenset({1, 2, 131000, 131016, 133004})


class WhatsAppWindowClosed(ChannelUnavailable):
    """The person has not written for too long; the message goes when they write again."""


def failure(status: int, code: int, subcode: int, retry_after_s: float) -> ChannelError:
    """Return the error to raise.

    Args:
        retry_after_s: what the answer asked for; 0 where it did not.
    """
    said = f"WhatsApp answered {status}, code {code}"
    if is_window_over(code):
        return WhatsAppWindowClosed(f"{_WINDOW} (code {code})")
    if sentence := _NEVER.get(code):
        return MessageRefused(f"{sentence} (code {code})")
    if code in _RETRY_S or status == _TOO_MANY:
        wait_s = retry_after_s or _RETRY_S.get(code, RATE_RETRY_S)
        return ChannelUnavailable(said, retry_after_s=min(wait_s, MAX_RETRY_S))
    if code in _PASSING or status >= _SERVER_ERRORS:
        return ChannelUnavailable(said)
    if sentence := _for_a_person(status, code, subcode):
        return ChannelRefused(f"{said}: {sentence}")
    return MessageRefused(said)


def is_window_over(code: int) -> bool:
    return code in _WINDOWS_OVER


def in_words(code: int) -> str:
    """Return why a message that was taken did not arrive after all."""
    if is_window_over(code):
        return _WINDOW
    return _NEVER.get(code) or _PERSON.get(code) or f"WhatsApp says no more than code {code}"


def _for_a_person(status: int, code: int, subcode: int) -> str:
    if code == _INVALID and subcode == _NOT_THERE:
        return "no such number is there for this token: look at channels.whatsapp.phone_number_id"
    if code in _PERMISSIONS or status == _NOT_OURS:
        return _NO_RIGHT
    return _PERSON.get(code, "")
