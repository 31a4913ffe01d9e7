"""Letters that cost too much to take apart."""

import pytest

from agent.channels.email.bulk import LetterBulk
from agent.channels.email.inbound import read_letter
from agent.channels.email.parser import (
    MAX_RAW_LINES,
    MAX_THIN_BYTES,
    MAX_TYPES,
    header_of,
    is_readable,
    parsed,
)

HEAD = b"From: anna@example.org\r\nSubject: hello\r\n"
_INNER = b"Content-Type: message/rfc822\r\n\r\n"


@pytest.mark.parametrize(
    "body",
    [_INNER * 3000, b"\r\n" * (MAX_RAW_LINES + 1), _INNER * (MAX_TYPES - 1) + b"\r\n" * 200_000],
)
def test_of_a_letter_that_costs_too_much_the_header_alone_is_read(body: bytes) -> None:
    assert not is_readable(HEAD + body)
    read = read_letter(parsed(header_of(HEAD + body)))
    assert (read.sender, read.subject, read.text) == ("anna@example.org", "hello", "")


def test_a_letter_with_many_large_pictures_is_readable() -> None:
    picture = b"\r\n--b\r\nContent-Type: image/jpeg\r\n\r\n" + (b"A" * 76 + b"\r\n") * 18_000
    whole = HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n" + picture * 20
    assert is_readable(LetterBulk(whole).thin)


def test_a_letter_that_is_large_without_its_files_is_not() -> None:
    assert not is_readable(HEAD + b"\r\n" + b"a b " * (MAX_THIN_BYTES // 4))
