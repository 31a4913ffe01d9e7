"""Email channel, and the platform that builds it from the settings."""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from agent.channels import approvals
from agent.channels.approvals import OpenApprovals
from agent.channels.base import Abilities, Answer, Channel, Deliver, Pulse, Question, YesBy
from agent.channels.context import ChannelContext
from agent.channels.credentials import find_secret
from agent.channels.delivery_steps import DoneSteps, refused, unsendable
from agent.channels.email.accounts import imap_account, receiver, submission
from agent.channels.email.alias_notice import NOTICE, AliasNotice
from agent.channels.email.bulk import LetterBulk
from agent.channels.email.commands import command_in, is_a_command
from agent.channels.email.contents import MAX_FILES, EmailFile
from agent.channels.email.cursor import EmailCursor
from agent.channels.email.inbound import (
    ReceivedEmail,
    read_letter,
    sender_of,
    why_not_for_us,
)
from agent.channels.email.parser import header_of, is_readable, parsed
from agent.channels.email.quotes import own_lines
from agent.channels.email.receive import ImapAccount, ImapMailbox, NewEmail, entered
from agent.channels.email.replays import NOT_NAMED, EmailReceiver, why_replayed
from agent.channels.email.send import (
    DISPLAY_NAME,
    EmailDraft,
    SmtpSubmission,
    attach,
    greet,
    submit,
    written,
)
from agent.channels.email.threads import EmailHeaders, EmailThreads, thread_mark
from agent.channels.email.verification import why_unverified
from agent.channels.incoming_files import IncomingFile, IncomingFiles, unfetched
from agent.channels.platform import Platform, PlatformContext, SetupKey, channel_context
from agent.channels.settings import ChannelsSettings, EmailSettings
from agent.config import Secret
from agent.errors import ChannelError, ConfigRefused, MessageRefused
from agent.messages import Address, Attachment, Inbound, Outbound, Provenance
from agent.system.clock import Clock
from agent.text.printable import printable_line

_log = logging.getLogger(__name__)

NAME = "email"
HINT = "Your answer is a letter: whole sentences, plain Markdown, as long as it needs to be."
# Longer answers are several letters
MAX_PART_CHARS = 10_000
# Of a letter: servers take some 25 MB, as they go over the line
MAX_FILE_BYTES = 15 * 1024 * 1024
# All files of a letter: they are here already
FILES_TIMEOUT_S = 60.0
MAX_QUOTED_CHARS = 2000
SEALED = (
    "Your letter is encrypted, or signed in a form that I cannot open, so I have not read it. "
    "Please send it again as plain mail."
)
UNREAD = "[a letter too large to be read, or that the mail server does not give whole]"
MAX_ADDRESS_CHARS = 320
# Submitting a large file over a slow line
UPLOAD_TIMEOUT_S = 120.0


class EmailChannel(Channel):
    """Channel of one mail address.

    Args:
        receiver: where letters come in, and at which addresses.
    """

    name = NAME
    abilities = Abilities(hint=HINT, upload_s=UPLOAD_TIMEOUT_S, takes_files=True, asks=True)

    def __init__(
        self,
        account: ImapAccount,
        submission: SmtpSubmission,
        receiver: EmailReceiver,
        place: ChannelContext,
        clock: Clock,
    ) -> None:
        self.pulse: Pulse = Pulse(clock)
        self._account = account
        self._submission = submission
        self._receiver = receiver
        self._place = place
        self._clock = clock
        self._position = EmailCursor(
            place.folder / "position.json", f"{account.user}@{account.host}", account.folder
        )
        self._threads = EmailThreads(place.folder / "letters.json")
        self._aliases = AliasNotice(place.folder / "told.json")
        self._files = IncomingFiles(place.recogniser, self.pulse.beat, FILES_TIMEOUT_S)
        self._questions = OpenApprovals()
        # Letters of answers that need several
        self._handed_in = DoneSteps()
        self._names = (submission.sender, DISPLAY_NAME)

    async def listen(self, deliver: Deliver) -> None:
        async with entered(self._account) as mailbox:
            self.pulse.beat()
            await self._position.load()
            if not self._position.is_known:
                # What was there before the agent came is not for it
                await self._position.advance(mailbox.validity, mailbox.following - 1)
            _log.info("email: listening (address=%s)", self._submission.sender)
            while True:
                await self._take_new(mailbox, deliver)
                await mailbox.wait()
                self.pulse.beat()

    async def send(self, message: Outbound) -> None:
        from agent.channels.render.plain import to_plain  # noqa: PLC0415 - an answer needs it, no start

        files = [
            (file, unsendable(file, MAX_FILE_BYTES, "a letter takes")) for file in message.files
        ]
        troubles = [trouble for _, trouble in files if trouble]
        text = "\n\n".join([to_plain(message.text), *troubles])
        heading = await self._threads.heading(message.in_reply_to)
        thread, answers = message.thread or "", message.in_reply_to
        # The same in every try: a mailbox that has it shows one
        await self._position.load()
        name = f"{message.outbox_id or secrets.token_hex(8)}.{message.part}"
        letters = _letters([file for file, trouble in files if not trouble])
        for number, taken in enumerate(letters, start=1):
            if number > self._handed_in.of(message):
                said = text if number == 1 else f"(More files: letter {number} of {len(letters)}.)"
                own_id = self._id(name if number == 1 else f"{name}.{number}", thread)
                draft = EmailDraft(message.recipient, said, own_id, answers, thread, heading)
                await self._post_what_is_taken(draft, taken)
                self._handed_in.note(message, number)
        self._handed_in.forget(message)

    def parts(self, text: str) -> tuple[str, ...]:
        from agent.channels.render.splitter import split  # noqa: PLC0415 - an answer needs it, no start

        return split(text, MAX_PART_CHARS, len)

    async def ask(self, address: Address, question: Question) -> Answer:
        async def put(message: Outbound) -> None:
            heading = await self._threads.heading(address.message_id)
            thread = address.thread or ""
            await self._position.load()
            at_s = int(self._clock.wall_s())
            own_id = self._id(f"question.{question.question_id}.{at_s}", thread)
            answers = address.message_id
            await self._post(
                EmailDraft(message.recipient, message.text, own_id, answers, thread, heading), []
            )

        # Some programs begin another thread, or lose which one it was: the code is what counts
        if question.yes_by is YesBy.WORD:
            question = replace(question, yes_by=YesBy.ID)
        return await approvals.ask(self._questions, _anywhere(address), question, put)

    async def _take_new(self, mailbox: ImapMailbox, deliver: Deliver) -> None:
        try:
            async for arrived in mailbox.new(self._position):
                self.pulse.beat()
                await self._take(arrived, deliver)
                await self._position.advance(mailbox.validity, arrived.uid)
        finally:
            await self._threads.save()
        if self._position.validity != mailbox.validity:
            # Nothing of late is there under the new numbers
            await self._position.advance(mailbox.validity, mailbox.following - 1)

    async def _take(self, arrived: NewEmail, deliver: Deliver) -> None:
        bulk = await asyncio.to_thread(LetterBulk, arrived.raw)
        is_whole = arrived.is_whole and await asyncio.to_thread(is_readable, bulk.thin)
        raw = bulk.thin if is_whole else header_of(arrived.raw)
        message = await asyncio.to_thread(parsed, raw)
        if reason := why_not_for_us(message, self._submission.sender):
            _log.info("email: message not answered (reason=%s)", reason)
            return
        sender = sender_of(message)
        if trouble := self._why_untrue(arrived, sender):
            _log.warning(
                "email: message dropped, not verified (from=%s, reason=%s)",
                printable_line(sender, MAX_ADDRESS_CHARS),
                trouble,
            )
            if trouble == NOT_NAMED:
                await self._explain(sender)
            return
        letter = await asyncio.to_thread(read_letter, message, self._names, bulk)
        if self._answers(letter):
            return
        thread = await self._threads.thread(letter)
        # Its own date is whatever the sender's clock says
        inbound = replace(
            self._inbound(letter, thread, is_whole=is_whole), sent_at_s=arrived.came_at_s
        )
        await self._threads.note(letter, thread)
        await deliver(await self._with_files(inbound, letter))

    async def _explain(self, sender: str) -> None:
        """Tell whoever is known why their letter to another address is not read."""
        now_s = self._clock.wall_s()
        said = Inbound("", NAME, sender, sender, "", now_s, Provenance.WEB)
        if not (self._place.knows(said) and await self._aliases.is_due(sender)):
            return
        own_id, heading = self._id(f"alias.{int(now_s)}", ""), EmailHeaders("", ())
        try:
            await self._post(EmailDraft(sender, NOTICE, own_id, "", "", heading), [])
        except ChannelError as err:
            _log.warning("email: notice about aliases not sent (reason=%s)", err)
            return
        await self._aliases.note(sender)

    def _why_untrue(self, arrived: NewEmail, sender: str) -> str:
        """Return why it may not be what the sender writes to us now; empty if it is."""
        came_at_s = self._clock.wall_s() if arrived.came_at_s is None else arrived.came_at_s
        return why_unverified(arrived.raw, sender, self._receiver.server) or why_replayed(
            arrived.raw, sender, self._receiver, came_at_s
        )

    def _answers(self, letter: ReceivedEmail) -> bool:
        """Take an answer to a question, whatever a program puts below it."""
        answer = approvals.answer_in([letter.subject, *own_lines(letter.text)])
        return bool(answer) and self._questions.answer(
            replace(self._inbound(letter, None), text=answer)
        )

    def _inbound(
        self, letter: ReceivedEmail, thread: str | None, *, is_whole: bool = True
    ) -> Inbound:
        command = command_in(letter.subject, letter.text, is_answer=letter.is_answer)
        # The subject of an answer only repeats that of the letter before
        subject = "" if letter.is_answer or command else letter.subject
        text = letter.text if is_whole else UNREAD
        if letter.is_sealed:
            # Its subject is not what it says
            text = subject = ""
        return Inbound(
            message_id=letter.message_id,
            channel=NAME,
            sender=letter.sender,
            reply_target=letter.sender,
            # Of a letter that says something the subject orders nothing
            text=command or text or subject,
            subject=subject if text else "",
            received_at_s=self._clock.wall_s(),
            provenance=Provenance.WEB,
            thread=thread,
            sender_name=letter.sender_name or letter.sender,
            quoted=letter.quoted[:MAX_QUOTED_CHARS],
            is_forwarded=letter.is_forwarded,
            notes=(SEALED,) if letter.is_sealed else (),
        )

    async def _with_files(self, inbound: Inbound, letter: ReceivedEmail) -> Inbound:
        if not letter.files or letter.is_sealed or is_a_command(inbound.text):
            return inbound
        files = letter.files[:MAX_FILES]
        if not self._place.knows(inbound):
            # A stranger fills no disk
            return unfetched(inbound, [file.name or "a file" for file in files])
        if (too_many := len(letter.files) - MAX_FILES) > 0:
            note = f"I took the first {MAX_FILES} files of your letter: {too_many} more are left."
            inbound = replace(inbound, notes=(*inbound.notes, note))
        return await self._files.added_to(inbound, [self._coming(file) for file in files])

    def _coming(self, file: EmailFile) -> IncomingFile:
        async def fetch() -> Attachment | str:
            return await self._place.keeping.keep(_pieces(file), file.media_type, file.name)

        return IncomingFile(file.name or "a file", fetch, is_speech=False)

    async def _post_what_is_taken(self, draft: EmailDraft, files: list[Attachment]) -> None:
        """Post the letter, without the files if the server takes it only so."""
        try:
            await self._post(draft, files)
        except MessageRefused as err:
            if not files:
                raise
            text = "\n\n".join([draft.text, *(refused(file, err) for file in files)])
            await self._post(replace(draft, text=text), [])

    async def _post(self, draft: EmailDraft, files: list[Attachment]) -> None:
        letter = written(draft, self._submission.sender, self._clock.wall_s())
        await asyncio.to_thread(attach, letter, files)
        await submit(letter, self._submission)

    def _id(self, name: str, thread: str) -> str:
        stamp = f"{self._position.series}.{name}{thread_mark(thread)}"
        return f"<barnacle.{stamp}@{self._submission.sender.rpartition('@')[2]}>"


def _letters(files: Sequence[Attachment]) -> list[list[Attachment]]:
    """Divide files among letters, each of which a server takes."""
    letters: list[list[Attachment]] = [[]]
    left_bytes = MAX_FILE_BYTES
    for file in files:
        size = Path(file.path).stat().st_size
        if size > left_bytes and letters[-1]:
            letters.append([])
            left_bytes = MAX_FILE_BYTES
        letters[-1].append(file)
        left_bytes -= size
    return letters


def _anywhere(address: Address) -> Address:
    return replace(address, thread=None)


async def _pieces(file: EmailFile) -> AsyncGenerator[bytes, None]:
    for piece in file.pieces():
        yield piece


class Email(Platform):
    """Platform of a mailbox."""

    name = NAME
    about = "a mailbox of the agent's own"
    wanted = (
        SetupKey("address", "The address", "Give the agent a mailbox that nobody else reads."),
        SetupKey("imap", "Where it is read, such as imaps://imap.example.org"),
        SetupKey("smtp", "Where letters are handed in, such as submissions://smtp.example.org"),
        SetupKey("user", "What it logs in as, where that is not the address", is_needed=False),
        SetupKey("password", "The password", is_secret=True),
        SetupKey(
            "authserv_id",
            "Who vouches for letters",
            "It is what stands before the first ; of Authentication-Results, in the source of any "
            "letter that came to that mailbox.",
        ),
    )

    def secrets(self, channels: ChannelsSettings, environ: Mapping[str, str]) -> Iterator[Secret]:
        yield _password(_wanted(channels), environ)

    def open(self, channels: ChannelsSettings, reach: PlatformContext) -> Channel:
        wanted = _wanted(channels)
        password = _password(wanted, reach.environ)
        _check(wanted, password)
        return EmailChannel(
            imap_account(wanted, password, reach.environ),
            submission(wanted, password, reach.environ),
            receiver(wanted),
            channel_context(self.name, channels, reach),
            reach.clock,
        )

    async def identify(self, channels: ChannelsSettings, reach: PlatformContext) -> str:
        wanted = _wanted(channels)
        password = _password(wanted, reach.environ)
        _check(wanted, password)
        async with entered(imap_account(wanted, password, reach.environ)):
            pass
        await greet(submission(wanted, password, reach.environ))
        return f"reads and writes letters as {wanted.address}, where {wanted.authserv_id} vouches"


PLATFORM = Email()


def _wanted(channels: ChannelsSettings) -> EmailSettings:
    return channels.email or EmailSettings()


def _password(wanted: EmailSettings, environ: Mapping[str, str]) -> Secret:
    return find_secret("email_password", wanted.password, wanted.password_file, environ)


def _check(wanted: EmailSettings, password: Secret) -> None:
    for key in ("address", "imap", "smtp"):
        if not getattr(wanted, key):
            raise ConfigRefused(f"channels.email.{key} is not set")
    if not password:
        raise ConfigRefused(
            "channels.email has no password: set password_file, or BARNACLE_EMAIL_PASSWORD"
        )
    if not wanted.authserv_id:
        raise ConfigRefused(
            "channels.email.authserv_id is not set: it is needed to tell real senders from "
            "forged ones. Set it to the text before the first ; of Authentication-Results in "
            "any mail of that mailbox"
        )
