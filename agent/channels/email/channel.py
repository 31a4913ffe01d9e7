"""Mail as a channel: one mailbox that is the agent's own.

A letter that the receiving server does not vouch for is not read: anybody can write any name on it,
and an answer would go to somebody who has written nothing.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace

from agent.channels import worded
from agent.channels.answers import OpenQuestions
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question
from agent.channels.email import posting
from agent.channels.email.letter import File, Letter, parsed, read_letter, why_not_for_us
from agent.channels.email.mailbox import Account, Arrived, Mailbox, entered
from agent.channels.email.position import Position
from agent.channels.email.posting import Draft, Submission
from agent.channels.email.threads import Threads
from agent.channels.email.verification import why_unverified
from agent.channels.incoming import Coming, IncomingFiles
from agent.channels.outgoing import unsendable
from agent.channels.place import Place
from agent.clock import Clock
from agent.messages import Address, Attachment, Inbound, Outbound, Provenance
from agent.printable import printable_line

_log = logging.getLogger(__name__)

NAME = "email"
HINT = "Your answer is a letter: whole sentences, plain Markdown, as long as it needs to be."
# Longer answers are several letters
MAX_PART_CHARS = 10_000
MAX_FILE_BYTES = 15 * 1024 * 1024
# All files of a letter: they are here already
FILES_TIMEOUT_S = 60.0
MAX_QUOTED_CHARS = 2000
MAX_ADDRESS_CHARS = 320
# Submitting a large file over a slow line
UPLOAD_TIMEOUT_S = 120.0


class EmailChannel(Channel):
    """One address.

    Args:
        authserv_id: the receiving server, by the name that it puts before its results.
    """

    name = NAME
    abilities = Abilities(hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True)

    def __init__(
        self, account: Account, submission: Submission, authserv_id: str, place: Place, clock: Clock
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._account = account
        self._submission = submission
        self._authserv_id = authserv_id
        self._place = place
        self._clock = clock
        self._position = Position(place.folder / "position.json", f"{account.user}@{account.host}")
        self._threads = Threads(place.folder / "letters.json")
        self._files = IncomingFiles(place.transcriber, self.pulse.beat, FILES_TIMEOUT_S)
        self._questions = OpenQuestions()

    async def listen(self, deliver: Deliver) -> None:
        async with entered(self._account) as mailbox:
            self.pulse.beat()
            await self._position.load()
            if not self._position.is_known:
                # What was there before the agent came is not for it
                await self._position.advance(mailbox.validity, mailbox.following - 1)
            _log.info("reading the letters of %s", self._submission.sender)
            while True:
                await self._take_new(mailbox, deliver)
                await mailbox.wait()
                self.pulse.beat()

    async def send(self, message: Outbound) -> None:
        from agent.channels.render import to_plain  # noqa: PLC0415 - an answer needs it, no start

        files = [
            (file, unsendable(file, MAX_FILE_BYTES, "a letter takes")) for file in message.files
        ]
        troubles = [trouble for _, trouble in files if trouble]
        text = "\n\n".join([to_plain(message.text), *troubles])
        heading = await self._threads.heading(message.in_reply_to)
        own_id = self._id(f"{message.outbox_id}.{message.part}.{int(self._clock.wall_s())}")
        draft = Draft(
            message.recipient, text, own_id, message.in_reply_to, message.thread or "", heading
        )
        await self._post(draft, [file for file, trouble in files if not trouble])

    def parts(self, text: str) -> tuple[str, ...]:
        from agent.channels.render import split  # noqa: PLC0415 - an answer needs it, no start

        return split(text, MAX_PART_CHARS, len)

    async def ask(self, address: Address, question: Question) -> Answer:
        async def put(message: Outbound) -> None:
            heading = await self._threads.heading(address.message_id)
            own_id = self._id(f"question.{question.question_id}.{int(self._clock.wall_s())}")
            thread = address.thread or ""
            answers = address.message_id
            await self._post(
                Draft(message.recipient, message.text, own_id, answers, thread, heading), []
            )

        return await worded.ask(self._questions, address, question, put)

    async def _take_new(self, mailbox: Mailbox, deliver: Deliver) -> None:
        async for arrived in mailbox.new(self._position):
            self.pulse.beat()
            await self._take(arrived, deliver)
            await self._position.advance(mailbox.validity, arrived.uid)
        if self._position.validity != mailbox.validity:
            # Nothing of late is there under the new numbers
            await self._position.advance(mailbox.validity, mailbox.following - 1)

    async def _take(self, arrived: Arrived, deliver: Deliver) -> None:
        message = await asyncio.to_thread(parsed, arrived.raw)
        if reason := why_not_for_us(message, self._submission.sender):
            _log.info("a letter is not answered: %s", reason)
            return
        letter = await asyncio.to_thread(read_letter, message)
        if trouble := why_unverified(arrived.raw, letter.sender, self._authserv_id):
            _log.warning(
                "email: a letter in the name of %s is not read: %s",
                printable_line(letter.sender, MAX_ADDRESS_CHARS),
                trouble,
            )
            return
        inbound = self._inbound(letter)
        if not arrived.is_whole:
            inbound = replace(inbound, text=f"{letter.subject}\n[a letter too large to be read]")
        if not self._questions.answer(replace(inbound, text=letter.text)):
            await self._threads.note(letter)
            await deliver(await self._with_files(inbound, letter))

    def _inbound(self, letter: Letter) -> Inbound:
        # The subject of an answer only repeats that of the letter before
        subject = "" if letter.references else letter.subject
        return Inbound(
            message_id=letter.message_id,
            channel=NAME,
            sender=letter.sender,
            reply_target=letter.sender,
            text="\n\n".join(part for part in (subject, letter.text) if part),
            received_at_s=self._clock.wall_s(),
            provenance=Provenance.WEB,
            thread=letter.thread,
            sender_name=letter.sender_name or letter.sender,
            quoted=letter.quoted[:MAX_QUOTED_CHARS],
            is_forwarded=letter.is_forwarded,
        )

    async def _with_files(self, inbound: Inbound, letter: Letter) -> Inbound:
        if not letter.files:
            return inbound
        if not self._place.knows(inbound):
            # A stranger fills no disk
            told = [f"[{file.name or 'a file'} that was not kept]" for file in letter.files]
            return replace(inbound, text="\n".join([inbound.text, *told]))
        return await self._files.added_to(inbound, [self._coming(file) for file in letter.files])

    def _coming(self, file: File) -> Coming:
        async def fetch() -> Attachment | str:
            return await self._place.keeping.keep(_pieces(file), file.media_type, file.name)

        return Coming(file.name or "a file", fetch, lambda _: file.media_type.startswith("audio/"))

    async def _post(self, draft: Draft, files: list[Attachment]) -> None:
        letter = posting.written(draft, self._submission.sender, self._clock.wall_s())
        await asyncio.to_thread(posting.attach, letter, files)
        await posting.submit(letter, self._submission)

    def _id(self, name: str) -> str:
        return f"<barnacle.{name}@{self._submission.sender.rpartition('@')[2]}>"


async def _pieces(file: File) -> AsyncIterator[bytes]:
    yield file.content
