"""Failure of a program, turned into one of our errors with one sentence.

Decided by the patterns of the declaration, then by the words and codes that services use, too: most
programs pass on what their service said.
"""

import re

from msgspec import Struct

from agent.errors import (
    ContextOverflow,
    KeyRefused,
    ProviderError,
    ProviderRefused,
    QuotaExhausted,
    RateLimited,
    TransientProviderError,
)
from agent.providers import complaints, failures
from agent.providers.complaints import Complaint
from agent.providers.settings import ProgramComplaints
from agent.security.redact import Redactor
from agent.text.printable import printable_line

# Of what a program says: the end of a long trace, and enough of it to act on
MAX_SAID_CHARS = 16 * 1024
_MAX_DETAIL_CHARS = 300
_NO_PROGRAM = frozenset({126, 127})
# A shell and bubblewrap add this to the number of the signal that ended a program
_SIGNALLED = 128
# In this order: an account without money is also told of limits, and those of a request are its own
_USUAL = {
    "rate_limit": r"rate.?limit|too many requests|usage limit|throttl",
    "credentials": (
        r"not (?:logged|signed) in|(?:log|sign).?in (?:again|first|required|expired)"
        r"|please (?:log|sign).?in|run [`'\"]?[\w -]{0,40}login|unauthori[sz]ed|authentication"
        r"|(?:invalid|incorrect|missing|no|expired)[\w ]{0,20} (?:api.?key|credentials|token)"
        r"|api.?key[\w ]{0,20} (?:invalid|not valid|expired|missing|required|not set)"
    ),
    "busy": r"overloaded|temporarily|unavailable|try again later|having trouble",
}
# A status that a program passes on by name; a bare number may be anything
_STATUS = re.compile(r"\b(?:error|status|http)(?: code)?[ :=]{1,3}([45][0-9]{2})\b", re.IGNORECASE)
_KIND_OF_STATUS = {
    "401": "credentials",
    "402": "quota",
    "403": "credentials",
    "413": "too_long",
    "429": "rate_limit",
}
_TELLING = re.compile(
    r"error|fail|cannot|can't|could not|unable|not found|no such|invalid|denied|refused|too l",
    re.IGNORECASE,
)
_SENTENCES: dict[str, tuple[type[ProviderError], str]] = {
    "rate_limit": (RateLimited, "{name} is asked too often just now{told}: try again later"),
    "credentials": (KeyRefused, "{name} is not signed in{told}: {sign_in}"),
    "quota": (QuotaExhausted, "the account of {name} has no quota left{told}"),
    "no_model": (ProviderRefused, "{name} has no model {model}{told}: change provider.model"),
    "busy": (TransientProviderError, "{name} cannot answer now{told}"),
}


class AskedProgram(Struct, frozen=True):
    """The program that was asked, for people.

    Args:
        key_source: where its key came from; empty where it was given none.
    """

    name: str
    model: str
    key_source: str
    patterns: ProgramComplaints
    redactor: Redactor

    def shown(self, words: str) -> str:
        """Return words of the program, fit for people."""
        return printable_line(self.redactor.redact(words), _MAX_DETAIL_CHARS).strip()


def declared_kind(program: AskedProgram, said: str) -> str:
    """Return the kind of failure whose pattern of the declaration is in the text; empty if none."""
    for kind in program.patterns.__struct_fields__:
        for pattern in getattr(program.patterns, kind):
            if re.search(pattern, said):
                return kind
    return ""


def explain_told(program: AskedProgram, told: object) -> ProviderError:
    """Return the error to raise for an error in the program's output."""
    return _explained(program, complaints.shaped({"error": told}), "", str(told))


def explain_end(
    program: AskedProgram, exit_status: int | None, printed: str, complained: str = ""
) -> ProviderError:
    """Return the error to raise for a program that ended without an answer.

    Args:
        exit_status: None where it did not end by itself.
        complained: what it wrote to its standard error.
    """
    said = f"{printed}\n{complained}".strip()[-MAX_SAID_CHARS:]
    if exit_status in _NO_PROGRAM and not printed:
        told = f"{exit_status}: {_telling_line(program, said)}"
        return ProviderRefused(
            f"{program.name} cannot be started ({told}): is it installed, and does program.reads "
            "have all that it needs? See `barnacle doctor`"
        )
    return _explained(program, complaints.read(said), _ending(exit_status), said)


def _explained(
    program: AskedProgram, complaint: Complaint, ending: str, said: str
) -> ProviderError:
    kind = declared_kind(program, said) or _usual_kind(complaint, said)
    detail = program.shown(complaint.message) if "\n" not in complaint.message.strip() else ""
    detail = detail or _telling_line(program, said)
    told = f" ({ending}{': ' if ending and detail else ''}{detail})" if ending or detail else ""
    error = _named(program, kind, told, said)
    if isinstance(error, TransientProviderError):
        error.retry_after_s = failures.retry_after_s(complaint.wait or complaint.wait_in_words)
    return error


def _usual_kind(complaint: Complaint, said: str) -> str:
    if complaint.is_about_length:
        return "too_long"
    if complaint.names_no_quota or complaint.sounds_like_no_quota(said):
        return "quota"
    if complaint.names_bad_key:
        return "credentials"
    if complaint.names_no_model:
        return "no_model"
    found = (kind for kind, words in _USUAL.items() if re.search(words, said, re.IGNORECASE))
    status = _STATUS.search(said)
    return next(found, "") or _KIND_OF_STATUS.get(status[1] if status else "", "")


def _named(program: AskedProgram, kind: str, told: str, said: str) -> ProviderError:
    if kind == "too_long":
        text = f"the conversation is too long for {program.name}{told}"
        return ContextOverflow(text, complaints.window(said))
    error, sentence = _SENTENCES.get(kind, (TransientProviderError, "{name} failed{told}"))
    texts = {"name": program.name, "model": program.model, "told": told}
    return error(sentence.format(**texts, sign_in=_sign_in(program)))


def _sign_in(program: AskedProgram) -> str:
    if program.key_source:
        return f"set a valid key in {program.key_source}"
    return "sign in with it in the folder program.home, or set program.key_variable and a key"


def _ending(exit_status: int | None) -> str:
    if exit_status is None or exit_status == 0:
        return ""
    if exit_status < 0 or exit_status > _SIGNALLED:
        number = -exit_status if exit_status < 0 else exit_status - _SIGNALLED
        return f"ended by signal {number}"
    return f"exit {exit_status}"


def _telling_line(program: AskedProgram, said: str) -> str:
    """Return the last line that sounds like a failure, else the last."""
    lines = [line for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    return program.shown((telling or lines)[-1]) if lines else ""
