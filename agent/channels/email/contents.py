"""Contents of a letter: the text that its reader is shown, and the files.

Programs put pictures between two texts, and letters into letters: every text that is shown counts,
and what is attached is a file, whatever it is. What cannot be read is said.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from email.message import EmailMessage, MIMEPart

from msgspec import Struct

from agent.channels.email.bulk import LetterBulk
from agent.channels.email.header_fields import MAX_HEADER_BYTES
from agent.channels.email.parser import ATTACHED, header_of, parsed
from agent.text.charsets import decoded
from agent.text.printable import printable_line, printable_text

MAX_TEXT_CHARS = 32_000
MAX_HTML_CHARS = 400_000
# Broken markup can cost the square of its length; Python's own start takes the smallest Pi a second
HTML_TIMEOUT_S = 20.0
UNREADABLE = "[a letter that cannot be read]"
MAX_FILES = 20
# Texts between pictures
MAX_TEXTS = 50
MAX_NAME_CHARS = 400
# As much as a text of the largest size takes in any character set
_MAX_TEXT_BYTES = 4 * MAX_HTML_CHARS
_TEXTS = frozenset({"text/plain", "text/html"})
# Other forms of a text that is there, signatures, and reports for programs: nobody's files
_NO_FILES = _TEXTS | {
    *("text/enriched", "text/richtext", "text/rtf", "text/watch-html", "text/x-amp-html"),
    *("application/pgp-encrypted", "application/pgp-signature", "application/pkcs7-signature"),
    *("application/x-pkcs7-signature", "message/delivery-status", "text/rfc822-headers"),
    "message/disposition-notification",
}
# Of what programs send without a name
_NAMES = {"text/calendar": "invitation.ics"}
# A form of a text that may say nothing
_MAX_SILENT_CHARS = 200
_SEALED = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
_PGP = "-----BEGIN PGP MESSAGE-----"


class EmailFile(Struct, frozen=True):
    """File attached to a mail; `pieces` yields its content."""

    name: str
    media_type: str
    pieces: Callable[[], Iterator[bytes]]


def text_of(message: EmailMessage, bulk: LetterBulk) -> str:
    """Return the text that a reader is shown."""
    deadline_s = time.monotonic() + HTML_TIMEOUT_S
    said = [_words(part, bulk, deadline_s) for part in _body(message)[:MAX_TEXTS]]
    return printable_text("\n".join(one for one in said if one.strip()), MAX_TEXT_CHARS)


def files_of(message: EmailMessage, bulk: LetterBulk) -> list[EmailFile]:
    """Return every attached file, also those that are too many."""
    body = {id(part) for part in _body(message)}
    parts = (part for part in _leaves(message) if id(part) not in body)
    return [_file(part, bulk) for part in parts if _is_file(part) or _is_content(part)]


def is_sealed(message: EmailMessage, text: str) -> bool:
    """Return true if the letter is for a program with the receiver's key alone."""
    return message.get_content_type() in _SEALED or text.lstrip().startswith(_PGP)


def _body(message: EmailMessage) -> list[MIMEPart]:
    if shown := _shown(message):
        return shown
    # Some give their text a name
    named = message.get_body(("plain", "html"))
    return [] if named is None else [named]


def _shown(part: MIMEPart) -> list[MIMEPart]:
    """Return the parts that make up the shown text, in their order."""
    kind = part.get_content_type()
    if _is_file(part):
        return []
    if kind in _TEXTS:
        return [part]
    if kind == "multipart/related":
        # What is around the text belongs into it
        body = part.get_body(("plain", "html"))
        return [] if body is None else [body]
    several = [_shown(one) for one in _children(part)]
    if kind != "multipart/alternative":
        return [one for each in several for one in each]
    forms = [one for one in several if one]
    forms = [one for one in forms if not all(map(_is_silent, one))] or forms
    plain = (form for form in forms if not any(_is_page(one) for one in form))
    return next(plain, forms[0] if forms else [])


def _leaves(part: MIMEPart) -> Iterator[MIMEPart]:
    """Yield what is no multipart; a letter in the letter is one."""
    if part.get_content_maintype() != "multipart" or not part.is_multipart():
        yield part
    for one in _children(part):
        yield from _leaves(one)


def _children(part: MIMEPart) -> list[MIMEPart]:
    payload = part.get_payload()
    is_apart = part.get_content_maintype() == "multipart" and isinstance(payload, list)
    return [one for one in payload if isinstance(one, MIMEPart)] if is_apart else []


def _is_file(part: MIMEPart) -> bool:
    is_named = part.get_content_disposition() == "attachment" or bool(part.get_filename())
    return part.get_content_type() == ATTACHED or is_named


def _is_content(part: MIMEPart) -> bool:
    """Return true for a part that is there for itself, though nothing calls it a file."""
    kind = part.get_content_type()
    return kind not in _NO_FILES and not kind.startswith("multipart/")


def _is_silent(part: MIMEPart) -> bool:
    """Return true for a text of blanks, which some programs put beside a page."""
    written = part.get_payload()
    if not isinstance(written, str) or len(written) > _MAX_SILENT_CHARS:
        return False
    told = part.get_payload(decode=True)
    return isinstance(told, bytes) and not decoded(told, "utf-8").strip()


def _is_page(part: MIMEPart) -> bool:
    return part.get_content_type() == "text/html"


def _words(part: MIMEPart, bulk: LetterBulk, deadline_s: float) -> str:
    content = bytearray()
    for piece in bulk.content(part):
        content += piece
        if len(content) > _MAX_TEXT_BYTES:
            break
    words = decoded(bytes(content), part.get_content_charset("ascii"))
    return _of_html(words[:MAX_HTML_CHARS], deadline_s) if _is_page(part) else words


def _of_html(content: str, deadline_s: float) -> str:
    """Return the text of a page, read in a process that ends in time whatever it is given."""
    from agent.system.programs import run_program  # noqa: PLC0415 - few letters need them
    from agent.tools import page_program  # noqa: PLC0415 - as above

    words = (sys.executable, "-I", "-S", page_program.__file__, "")
    left_s = max(deadline_s - time.monotonic(), 0.0)
    try:
        done = run_program(words, left_s, content.encode("utf-8", "replace"))
        return str(json.loads(done.stdout)[1])
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return UNREADABLE


def _file(part: MIMEPart, bulk: LetterBulk) -> EmailFile:
    kind = part.get_content_type()
    name = part.get_filename() or _NAMES.get(kind, "")
    if kind == ATTACHED and not name:
        name = f"{_subject(bulk.content(part)) or 'letter'}.eml"
    return EmailFile(printable_line(name, MAX_NAME_CHARS), kind, lambda: bulk.content(part))


def _subject(pieces: Iterator[bytes]) -> str:
    """Return the subject of an attached letter."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= MAX_HEADER_BYTES:
            break
    return str(parsed(header_of(head)).get("subject", ""))
