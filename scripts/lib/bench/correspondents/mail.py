"""People who write letters, by Postfix and Dovecot."""

import asyncio
import contextlib
import smtplib
from collections import Counter
from collections.abc import AsyncIterator
from email import message_from_bytes, policy
from pathlib import Path

from agent.access.people import PersonAccount
from scripts.lib.bench.correspondents.base import Correspondents, Line
from tests.fakes import mail_server
from tests.fakes.email_platform import Writer
from tests.fakes.mail_server import PASSWORD, VOUCHES, MailServer
from tests.waits import wait_until

_PATIENCE_S = 60.0


class MailPeople(Correspondents):
    """People with programs for mail."""

    name = "email"

    def __init__(
        self, server: MailServer, lines: tuple[Line, Line], folder: Path, count: int
    ) -> None:
        imap, self._smtp = self.lines = lines
        self._server = server
        self._position = folder.parent / "state" / "email" / "position.json"
        self._boxes = folder / "dovecot" / "mail"
        self._writers = [Writer(server) for _ in range(count)]
        self._agent = self._writers[0].agent
        self._seen: set[str] = set()
        self._found: Counter[str] = Counter()
        self.table = (
            f'[channels.email]\naddress = "{self._agent}"\npassword = "{PASSWORD}"\n'
            f'imap = "imap://127.0.0.1:{imap.relay.port}"\n'
            f'smtp = "submission://127.0.0.1:{self._smtp.relay.port}"\n'
            f'authserv_id = "{VOUCHES}"\n'
        )
        self.accounts = [
            PersonAccount(channel="email", sender=one.address, target=one.address)
            for one in self._writers
        ]

    async def ready(self) -> None:
        await wait_until(self._position.exists, _PATIENCE_S)

    async def write(self, person: int, text: str) -> None:
        writer = self._writers[person]
        letter = writer.letter(text)
        letter.replace_header("To", self._agent)
        await asyncio.to_thread(self._submit, writer.address, letter.as_bytes())

    async def answers(self) -> Counter[str]:
        await asyncio.to_thread(self._catch_up)
        return self._found

    def refuse_next(self) -> None:
        self._smtp.relay.answer_next(b"421 mx.example.org is busy\r\n")

    def _submit(self, sender: str, letter: bytes) -> None:
        with smtplib.SMTP("127.0.0.1", self._server.smtp, "localhost", _PATIENCE_S) as client:
            client.sendmail(sender, [self._agent], letter)

    def _catch_up(self) -> None:
        for writer in self._writers:
            for file in (self._boxes / writer.address / "new").glob("*"):
                if file.name not in self._seen:
                    self._seen.add(file.name)
                    self._found[_text(file.read_bytes())] += 1


def _text(raw: bytes) -> str:
    body = message_from_bytes(raw, policy=policy.default).get_body(("plain",))
    return str(body.get_content()).strip() if body is not None else ""


@contextlib.asynccontextmanager
async def on_postfix(folder: Path, people: int) -> AsyncIterator[MailPeople]:
    mail_server.need_servers()
    server = await asyncio.to_thread(MailServer, folder)
    lines = (Line(server.imap), Line(server.smtp))
    try:
        for line in lines:
            await line.relay.start()
        yield MailPeople(server, lines, folder, people)
    finally:
        for line in lines:
            await line.relay.stop()
        await asyncio.to_thread(server.stop)
