import imaplib
from pathlib import Path
from typing import cast

import pytest

from agent.channels.email.batches import MAX_LETTER_BYTES
from agent.channels.email.cursor import EmailCursor
from agent.channels.email.receive import ImapMailbox, NewEmail


class TwoLetters:
    """Client of a server with two letters.

    Args:
        before: said of each before its content, after which it says `behind`.
    """

    def __init__(self, before: bytes, behind: bytes) -> None:
        self._before = before
        self._behind = behind

    def response(self, code: str) -> tuple[str, list[None]]:
        return code, [None]

    def uid(self, command: str, *told: str) -> tuple[str, list[object]]:
        if command == "SEARCH":
            return "OK", [b"7 8"]
        if "(RFC822.SIZE)" in told:
            return "OK", [b"1 (UID 7 RFC822.SIZE 5)", b"2 (RFC822.SIZE 5 UID 8)"]
        contents = ((b"7", b"first"), (b"8", b"other"))
        return "OK", [
            piece
            for uid, content in contents
            for piece in ((self._before % uid, content), self._behind.replace(b"%d", uid))
        ]


@pytest.mark.parametrize(
    ("before", "behind"),
    [(b"1 (UID %b BODY[] {5}", b")"), (b"1 (%.0bBODY[] {5}", b" UID %d FLAGS (\\Seen))")],
)
async def test_the_number_of_a_letter_may_stand_behind_it(
    before: bytes, behind: bytes, tmp_path: Path
) -> None:
    mailbox = ImapMailbox(cast(imaplib.IMAP4, TwoLetters(before, behind)), 1, 9)
    position = EmailCursor(tmp_path / "position.json", "b@example.org")
    found = [arrived async for arrived in mailbox.new(position)]
    assert found == [NewEmail(7, b"first", is_whole=True), NewEmail(8, b"other", is_whole=True)]


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (b'1 (UID %b INTERNALDATE " 5-Nov-2026 20:10:00 +0100" BODY[] {5}', b")"),
        (b"1 (UID %b BODY[] {5}", b' INTERNALDATE "05-Nov-2026 19:10:00 +0000")'),
        (b'1 (UID %b INTERNALDATE "yesterday" BODY[] {5}', b")"),
    ],
)
async def test_a_letter_has_the_time_of_its_arrival(
    before: bytes, behind: bytes, tmp_path: Path
) -> None:
    mailbox = ImapMailbox(cast(imaplib.IMAP4, TwoLetters(before, behind)), 1, 9)
    position = EmailCursor(tmp_path / "position.json", "b@example.org")
    times = {arrived.came_at_s async for arrived in mailbox.new(position)}
    assert times == ({None} if b"yesterday" in before else {1_793_905_800})


class LargeLetter(TwoLetters):
    """Client of a server with a letter that somebody marks as read while its size is asked for."""

    def uid(self, command: str, *told: str) -> tuple[str, list[object]]:
        if command == "SEARCH":
            return "OK", [b"7"]
        if "(RFC822.SIZE)" in told:
            size = b"1 (UID 7 RFC822.SIZE %d)" % (MAX_LETTER_BYTES + 1)
            return "OK", [size, b"1 (UID 7 FLAGS (\\Seen))"]
        return "OK", [(b"1 (UID 7 BODY[] {5}", b"first"), b")"]


async def test_a_mark_on_a_letter_hides_no_size(tmp_path: Path) -> None:
    mailbox = ImapMailbox(cast(imaplib.IMAP4, LargeLetter(b"", b"")), 1, 8)
    position = EmailCursor(tmp_path / "position.json", "b@example.org")
    assert [one.is_whole async for one in mailbox.new(position)] == [False]
