import asyncio
import ssl
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agent.channels.email import send
from agent.channels.email.send import EmailDraft, SmtpSubmission, SmtpTls, attach, submit, written
from agent.channels.email.threads import EmailHeaders
from agent.config import Secret
from agent.errors import ChannelUnavailable
from agent.messages import Attachment
from tests.fakes.drip import paced
from tests.fakes.raw_server import serving

# As long as those of large providers are
LONG = f"<{'AM0PR04MB' * 6}@AM0PR04MB0001.eurprd04.prod.outlook.example.org>"
OLD = "<root@example.org>"


def sent(answers: str) -> bytes:
    heading = EmailHeaders("pump", (OLD, LONG))
    draft = EmailDraft("anna@example.org", "on", "<1@example.org>", answers, OLD, heading)
    return written(draft, "barnacle@example.org", 0).as_bytes()


def test_a_long_id_is_named_as_it_was_written() -> None:
    lines = sent(LONG).splitlines()
    assert f"In-Reply-To: {LONG}".encode() in lines
    assert lines[lines.index(f"References: {OLD}".encode()) + 1] == f" {LONG}".encode()


def test_an_id_that_is_no_ascii_goes_as_before() -> None:
    assert b"In-Reply-To: =?utf-8?" in sent("<é@example.org>")


async def serve_slowly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Take letters over a line of 50 KB ten times a second."""
    writer.write(b"220 here\r\n")
    while line := await reader.readline():
        writer.write(b"354 go on\r\n" if line.startswith(b"DATA") else b"250 ok\r\n")
        if line.startswith(b"DATA"):
            letter = b""
            async for _ in paced(count(), 0.1):
                letter += await reader.read(50_000)
                if letter.endswith(b"\r\n.\r\n"):
                    break
            writer.write(b"250 taken\r\n")


@pytest.mark.parametrize("least_bytes_per_s", [100_000, 100_000_000])
async def test_a_letter_with_files_has_the_time_of_a_slow_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least_bytes_per_s: int
) -> None:
    monkeypatch.setattr(send, "SUBMIT_TIMEOUT_S", 0.5)
    monkeypatch.setattr(send, "LEAST_BYTES_PER_S", least_bytes_per_s)
    film = tmp_path / "film.mp4"
    film.write_bytes(b"x" * 900_000)
    draft = EmailDraft(
        "anna@example.org", "look", "<1@example.org>", "", "", EmailHeaders("film", ())
    )
    letter = written(draft, "barnacle@example.org", 0)
    attach(letter, [Attachment(str(film), "video/mp4", "film.mp4", 900_000)])
    async with serving(serve_slowly) as url:
        port = urlsplit(url).port
        assert port is not None
        account = ("", Secret(""), "barnacle@example.org")
        where = SmtpSubmission(
            "127.0.0.1", port, ssl.create_default_context(), SmtpTls.OFFERED, *account
        )
        if least_bytes_per_s < len(letter.as_bytes()):
            await submit(letter, where)
        else:
            with pytest.raises(ChannelUnavailable, match="no mail for now"):
                await submit(letter, where)
