"""Mail for the checks that every platform passes: real servers, and Anna who writes letters."""

import asyncio
import itertools
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import make_msgid
from pathlib import Path
from types import MappingProxyType

from agent.channels.base import Answer, Question
from agent.channels.context import ChannelContext
from agent.channels.email.channel import EmailChannel
from agent.channels.email.receive import ImapAccount
from agent.channels.email.replays import EmailReceiver
from agent.channels.email.send import SmtpSubmission, SmtpTls
from agent.channels.received_files import ReceivedFiles
from agent.config import Secret
from agent.messages import Inbound, Outbound
from agent.net.tls import unchecked_context
from agent.system.clock import SystemClock
from tests.fakes.mail_server import PASSWORD, VOUCHES, MailServer
from tests.fakes.relay import Relay
from tests.waits import wait_until

_COUNT = itertools.count(1)


class Writer:
    """Anna with a program for mail, and the agent's address."""

    def __init__(self, server: MailServer) -> None:
        number = next(_COUNT)
        self.server = server
        self.address = f"anna{number}@example.org"
        self.agent = f"barnacle{number}@example.org"
        self._last = b""

    async def write(self, text: str, answers: EmailMessage | None = None, **headers: str) -> None:
        subject = f"Re: {answers['subject']}" if answers else ""
        letter = self.letter(text, headers.pop("sender", ""), headers.pop("Subject", subject))
        if answers:
            letter["In-Reply-To"] = answers["message-id"]
            letter["References"] = f"{answers['references'] or ''} {answers['message-id']}".strip()
        for name, value in headers.items():
            letter[name.replace("_", "-")] = value
        await self.hand_in(letter)

    def letter(self, text: str, sender: str = "", subject: str = "") -> EmailMessage:
        """Return a letter to the agent."""
        letter = EmailMessage()
        letter["From"] = f"Anna <{sender or self.address}>"
        letter["To"] = self.agent
        letter["Message-ID"] = make_msgid(domain="example.org")
        letter["Subject"] = subject
        letter.set_content(text)
        return letter

    async def write_with_file(self, text: str, content: bytes) -> None:
        letter = EmailMessage()
        letter["From"], letter["To"] = self.address, self.agent
        letter["Message-ID"] = make_msgid(domain="example.org")
        letter.set_content(text)
        letter.add_attachment(content, "application", "pdf", filename="datasheet.pdf")
        await self.hand_in(letter)

    async def hand_in(self, letter: EmailMessage) -> None:
        self._last = letter.as_bytes()
        await self.repeat()

    async def repeat(self) -> None:
        await self.server.hand_in(self._last, self.address, self.agent)

    def letters(self) -> list[EmailMessage]:
        return self.server.letters(self.address)

    def read(self) -> list[str]:
        return [_text(one) for one in self.letters()]


class EmailPlatform:
    """Anna's mailbox and the agent's."""

    repeats_what_was_not_confirmed = True
    cannot: Mapping[str, str] = MappingProxyType(
        {
            "a_group_hears_only_who_calls": "has no groups",
            "a_wish_to_be_left_alone_is_handed_on": "never says when to come again",
        }
    )

    def __init__(self, writer: Writer, imap: Relay, smtp: Relay, folder: Path) -> None:
        self.writer = writer
        self._imap, self._smtp = imap, smtp
        self._folder = folder
        self.knows = True
        self.channel = self.restarted()
        self._thread = ""

    def restarted(self, folder: str = "INBOX") -> EmailChannel:
        """Whose letters have come where they are looked for at once."""
        place = ChannelContext(
            self._folder / "email", ReceivedFiles(self._folder / "inbox"), lambda _: self.knows
        )
        agent, password = self.writer.agent, Secret(PASSWORD)
        channel = EmailChannel(
            ImapAccount("127.0.0.1", self._imap.port, None, agent, password, folder),
            SmtpSubmission(
                "127.0.0.1",
                self._smtp.port,
                unchecked_context(),
                SmtpTls.OFFERED,
                user=agent,
                password=password,
                sender=agent,
            ),
            EmailReceiver(VOUCHES, (agent,)),
            place,
            SystemClock(),
        )
        send = channel.send

        async def send_and_see(message: Outbound) -> None:
            before = len(self.writer.letters())
            await send(message)
            await wait_until(lambda: len(self.writer.letters()) > before)

        channel.send = send_and_see  # type: ignore[method-assign]  # around the real one
        return channel

    async def write(self, text: str, *, is_group: bool = False, calls: bool = True) -> None:
        await self.settled()
        await self.writer.write(text)

    async def write_in_thread(self, text: str) -> bool:
        await self.write(text)
        return True

    async def write_with_file(self, text: str, content: bytes) -> None:
        await self.settled()
        await self.writer.write_with_file(text, content)

    async def repeat(self) -> None:
        await self.writer.repeat()

    def shown(self, inbound: Inbound) -> list[str]:
        return [
            _text(one)
            for one in self.writer.letters()
            if str(inbound.thread) in str(one["references"])
        ]

    def files(self) -> list[bytes]:
        return [
            bytes(part.get_payload(decode=True) or b"")
            for letter in self.writer.letters()
            for part in letter.iter_attachments()
        ]

    def marks(self) -> int:
        return 0

    def typings(self) -> int:
        return 0

    def break_next_send(self, *, retry_after_s: float = 0) -> None:
        self._smtp.answer_next(b"421 mx.example.org is busy\r\n")

    def cut_listening(self) -> None:
        self._imap.cut()

    async def answer_question(self, question: Question, answer: Answer) -> None:
        asked = self.writer.letters()[-1]
        quoted = "\n".join(f"> {line}" for line in _text(asked).splitlines())
        words = f"{answer.value} {question.question_id}\n\nOn Friday the agent wrote:\n{quoted}\n"
        await self.writer.write(words, asked)

    async def settled(self) -> None:
        """Wait for the first start: what was there before it is not read."""
        position = self._folder / "email" / "position.json"
        await wait_until(position.exists)
        await asyncio.sleep(0)


def _text(letter: EmailMessage) -> str:
    body = letter.get_body(("plain",))
    assert body is not None
    return str(body.get_content()).strip()
