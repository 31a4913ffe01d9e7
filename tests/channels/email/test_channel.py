import asyncio
import contextlib
import imaplib
import time
from collections.abc import AsyncIterator, Sequence
from email.message import EmailMessage
from pathlib import Path

import pytest

from agent.channels.base import Answer, Question
from agent.channels.email import batches, channel, receive
from agent.channels.email.bulk import LetterBulk
from agent.channels.email.channel import SEALED, UNREAD, EmailChannel
from agent.channels.email.contents import MAX_FILES
from agent.channels.email.cursor import EmailCursor
from agent.channels.email.inbound import ReceivedEmail, read_letter
from agent.config import Secret
from agent.errors import ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Inbound, Outbound
from tests.contracts.channel import Listener, answer, listening
from tests.fakes import mail_server
from tests.fakes.clock import SteppedClock
from tests.fakes.email_platform import EmailPlatform, Writer
from tests.fakes.mail_server import PASSWORD, VOUCHES
from tests.fakes.relay import Relay
from tests.waits import wait_until


@pytest.fixture
async def smtp() -> AsyncIterator[Relay]:
    relay = Relay(mail_server.shared().smtp)
    await relay.start()
    yield relay
    await relay.stop()


@pytest.fixture
async def platform(tmp_path: Path, smtp: Relay) -> AsyncIterator[EmailPlatform]:
    imap = Relay(mail_server.shared().imap)
    await imap.start()
    yield EmailPlatform(Writer(mail_server.shared()), imap, smtp, tmp_path)
    await imap.stop()


async def test_a_letter_in_somebodys_name_is_not_read(
    platform: EmailPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    writer = platform.writer
    async with listening(platform.channel) as listener:
        await platform.write("real")
        await listener.first()
        writer.address, known = "mallory@example.org", writer.address
        await writer.write("lamp on", sender=known)
        forged = {"Authentication_Results": "mx.example.org; dmarc=pass header.from=example.org"}
        await writer.write("lamp on", sender=known, **forged)
        writer.address = known
        await writer.write("real too")
        await wait_until(lambda: len(listener.heard) == 2)
    assert [one.text for one in listener.heard] == ["real", "real too"]
    assert "does not vouch for its From" in caplog.text


async def test_of_a_letter_in_somebodys_name_the_header_alone_is_read(
    platform: EmailPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()

    def reading(message: EmailMessage, own: Sequence[str], bulk: LetterBulk) -> ReceivedEmail:
        read.append(str(message["from"]))
        return read_letter(message, own, bulk)

    monkeypatch.setattr(channel, "read_letter", reading)
    writer = platform.writer
    async with listening(platform.channel) as listener:
        writer.address, known = "mallory@example.org", writer.address
        await writer.write("lamp on", sender=known)
        writer.address = known
        await writer.write("real")
        await listener.first()
    assert read == [f"Anna <{known}>"]


async def test_an_answer_is_in_the_thread_of_its_letter(platform: EmailPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, "It is **warm**."))
        [told] = platform.writer.letters()
        assert told["in-reply-to"] == heard.message_id
        assert told["auto-submitted"] == "auto-replied"
        await platform.writer.write("and now?", told)
        second = (await listener.first(2))[1]
        assert second.thread == heard.thread
        assert second.text == "and now?"


async def test_what_is_not_asked_for_begins_a_thread(platform: EmailPlatform) -> None:
    async with listening(platform.channel):
        await platform.channel.send(
            Outbound(7, "email", platform.writer.address, "The tank is empty.\nRefill it.", "")
        )
    [told] = platform.writer.letters()
    assert told["subject"] == "The tank is empty."
    assert told["auto-submitted"] == "auto-generated"


async def test_a_letter_that_is_sent_again_has_the_same_id(platform: EmailPlatform) -> None:
    said = Outbound(7, "email", platform.writer.address, "The tank is empty.", "")
    async with listening(platform.channel):
        await wait_until(lambda: platform.channel._position.is_known)
        await platform.channel.send(said)
    again = platform.restarted()
    again._clock = SteppedClock(platform.channel._clock.wall_s() + 60)
    await again.send(said)
    await wait_until(lambda: len(platform.writer.letters()) == 2)
    first, second = platform.writer.letters()
    assert first["message-id"] == second["message-id"]


def files(folder: Path, size: int) -> tuple[Attachment, ...]:
    made = []
    for name in ("a", "b"):
        path = folder / f"{name}.pdf"
        path.write_bytes(name.encode() * size)
        made.append(Attachment(str(path), "application/pdf", path.name, size))
    return tuple(made)


async def test_files_that_no_letter_takes_together_come_in_several(
    platform: EmailPlatform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "MAX_FILE_BYTES", 1000)
    await platform.channel.send(
        Outbound(7, "email", platform.writer.address, "Here.", "", files=files(tmp_path, 600))
    )
    await wait_until(lambda: len(platform.writer.letters()) == 2)
    assert sorted(platform.files()) == [b"a" * 600, b"b" * 600]
    assert len({one["message-id"] for one in platform.writer.letters()}) == 2


async def test_a_letter_that_was_handed_in_is_not_handed_in_again_with_the_next(
    platform: EmailPlatform, tmp_path: Path, smtp: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "MAX_FILE_BYTES", 1000)
    said = Outbound(7, "email", platform.writer.address, "Here.", "", files=files(tmp_path, 600))
    smtp.answer_next(b"421 mx.example.org is busy\r\n", after=1)
    with pytest.raises(ChannelUnavailable):
        await platform.channel.send(said)
    await platform.channel.send(said)
    await platform.channel.send(Outbound(8, "email", platform.writer.address, "Last.", ""))
    await wait_until(lambda: "Last." in platform.writer.read())
    assert len(platform.writer.letters()) == 3
    assert sorted(platform.files()) == [b"a" * 600, b"b" * 600]


async def test_what_promised_a_file_comes_without_it_where_the_server_takes_none_so_large(
    platform: EmailPlatform, tmp_path: Path, smtp: Relay
) -> None:
    smtp.reach(mail_server.shared().small)
    large = files(tmp_path, mail_server.SMALL_BYTES)
    await platform.channel.send(
        Outbound(7, "email", platform.writer.address, "Here they are.", "", files=large)
    )
    [told] = platform.writer.read()
    assert told.startswith("Here they are.\n")
    assert "a.pdf was to come with this" in told
    assert "b.pdf was to come with this" in told
    assert platform.files() == []


@pytest.mark.parametrize("to", ["nobody@elsewhere.net", "not an address", "a@b\r\nBcc: c@d.org"])
async def test_whom_the_server_does_not_know_gets_nothing_and_it_is_said(
    platform: EmailPlatform, to: str
) -> None:
    with pytest.raises(MessageRefused):
        await EmailChannel.send(platform.channel, Outbound(1, "email", to, "hello", ""))


async def test_what_was_there_before_the_agent_came_is_not_for_it(
    platform: EmailPlatform,
) -> None:
    await platform.writer.write("old")
    async with listening(platform.channel) as listener:
        await platform.write("new")
        [heard] = await listener.first()
    assert heard.text == "new"


async def test_what_was_in_a_folder_before_the_agent_looked_there_is_not_for_it(
    platform: EmailPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
    old = platform.writer.letter("turn the pump on").as_bytes()
    with imaplib.IMAP4("127.0.0.1", mail_server.shared().imap) as client:
        client.login(platform.writer.agent, PASSWORD)
        client.create("Agent")
        client.append("Agent", "", "", vouched(old, platform.writer))
    moved = platform.restarted(folder="Agent")
    async with listening(moved) as listener:
        await wait_until(lambda: moved._position.is_known)
        with imaplib.IMAP4("127.0.0.1", mail_server.shared().imap) as client:
            client.login(platform.writer.agent, PASSWORD)
            new = platform.writer.letter("new").as_bytes()
            client.append("Agent", "", "", vouched(new, platform.writer))
        [heard] = await listener.first()
    assert heard.text == "new"


def vouched(letter: bytes, writer: Writer) -> bytes:
    """Return a letter as the server would have put it into the mailbox."""
    head = (
        f"Return-Path: <{writer.address}>\r\n"
        f"Authentication-Results: {VOUCHES}; dmarc=pass header.from=example.org\r\n"
    )
    return head.encode() + letter.replace(b"\n", b"\r\n")


async def test_a_letter_has_the_time_at_which_the_server_got_it(platform: EmailPlatform) -> None:
    """Without it what waited for days while the agent was away would be carried out."""
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await platform.writer.write("turn the pump on", Date="Mon, 5 Jan 2026 10:00:00 +0000")
        heard = await listener.first(2)
    assert [one.sent_at_s for one in heard] == [pytest.approx(time.time(), abs=60)] * 2


async def test_a_server_that_numbers_anew_brings_nothing_twice_under_another_id(
    platform: EmailPlatform, tmp_path: Path
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("one")
        [first] = await listener.first()
    position = tmp_path / "email" / "position.json"
    position.write_text(position.read_text().replace('"validity":', '"validity":1,"was":'))
    async with listening(platform.restarted()) as listener:
        await platform.writer.write("two")
        await wait_until(lambda: any(one.text == "two" for one in listener.heard))
    assert {one.message_id for one in listener.heard if one.text == "one"} <= {first.message_id}


async def test_a_letter_that_is_too_large_is_heard_of(
    platform: EmailPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MAX_LETTER_BYTES", 2000)
    async with listening(platform.channel) as listener:
        await platform.write("x" * 4000)
        [heard] = await listener.first()
    assert heard.text.endswith(UNREAD)


async def test_a_letter_that_the_server_cannot_give_holds_up_no_other(
    platform: EmailPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    """Dovecot hangs up over a file that it cannot read."""
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
    await platform.writer.write("lost")
    platform.writer.server.spoil(platform.writer.agent)
    await platform.writer.write("good")
    heard: list[str] = []

    async def take(inbound: Inbound) -> None:
        heard.append(inbound.text)

    for _ in range(2 * batches.MAX_LOST):
        with pytest.raises(ChannelUnavailable):
            await platform.channel.listen(take)
    assert "letter passed over" in caplog.text
    async with listening(platform.channel) as listener:
        await listener.first()
        heard += [one.text for one in listener.heard]
    assert heard == ["good"]


@pytest.mark.parametrize(
    "failure", [TimeoutError("timed out"), imaplib.IMAP4.abort("command: UID => socket error: EOF")]
)
async def test_a_network_that_fails_has_no_letter_passed_over(
    platform: EmailPlatform, failure: Exception
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
    await platform.writer.write("second")
    fetch = receive.ImapMailbox._fetch

    def cut(own: receive.ImapMailbox, uids: Sequence[int], what: str) -> Sequence[object]:
        if "BODY" in what:
            raise failure
        return fetch(own, uids, what)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(receive.ImapMailbox, "_fetch", cut)
        for _ in range(2 * batches.MAX_LOST):
            with pytest.raises(ChannelUnavailable):
                await platform.channel.listen(ignore)
    async with listening(platform.channel) as listener:
        [heard] = await listener.first()
    assert heard.text == "second"


async def ignore(_inbound: Inbound) -> None:
    """Take what nobody asks for."""


async def test_silence_is_broken_and_life_is_counted(
    platform: EmailPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receive, "IDLE_S", 0.1)
    pulse = platform.channel.pulse
    async with listening(platform.channel):
        await wait_until(lambda: pulse.age_s > 0.05)
        before = pulse.age_s
        await wait_until(lambda: pulse.age_s < before)
        before = pulse.age_s
        await wait_until(lambda: pulse.age_s > before + 0.02)
        await wait_until(lambda: pulse.age_s < before + 0.02)


async def test_a_server_that_is_away_is_no_refusal(tmp_path: Path) -> None:
    writer = Writer(mail_server.shared())
    gone = Relay(1)
    gone.port = 1
    channel = EmailPlatform(writer, gone, gone, tmp_path).channel
    with pytest.raises(ChannelUnavailable, match="cannot reach the mail server"):
        await channel.listen(Listener().deliver)
    with pytest.raises(ChannelUnavailable, match="accepts no mail for now"):
        await EmailChannel.send(channel, Outbound(1, "email", writer.address, "hello", ""))


async def test_ending_while_a_connection_is_made_leaves_none(platform: EmailPlatform) -> None:
    for _ in range(5):
        task = asyncio.ensure_future(platform.channel.listen(Listener().deliver))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_a_command_acts_alone_whatever_the_subject_says(platform: EmailPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
        await platform.writer.write("/estop", Subject="what is wrong with the pump")
        await platform.writer.write("turn the led on", Subject="/stop")
        await platform.writer.write("Hello,\n\n/pair K7WD-2M9P\n\nAnna", Subject="my new phone")
        heard = (await listener.first(4))[1:]
    assert [one.text for one in heard] == ["/estop", "/stop", "/pair K7WD-2M9P"]
    assert not any(one.subject for one in heard)


async def test_a_subject_orders_nothing_where_the_letter_says_something(
    platform: EmailPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
        await platform.writer.write("turn the led on", Subject="lights")
        await platform.writer.write("", Subject="turn the pump off")
        first, second = (await listener.first(3))[1:]
    assert (first.text, first.subject) == ("turn the led on", "lights")
    assert (second.text, second.subject) == ("turn the pump off", "")


async def test_a_letter_that_needs_a_key_orders_nothing_and_its_writer_is_told(
    platform: EmailPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
        await platform.writer.write("-----BEGIN PGP MESSAGE-----\n\nhQ", Subject="turn it off")
        sealed = (await listener.first(2))[1]
    assert (sealed.text, sealed.subject, sealed.notes) == ("", "", (SEALED,))
    assert sealed.is_only_notes


async def test_files_that_are_too_many_are_told(platform: EmailPlatform) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
        letter = platform.writer.letter("my pictures")
        for number in range(MAX_FILES + 2):
            letter.add_attachment(b"x", "image", "png", filename=f"{number}.png")
        await platform.writer.hand_in(letter)
        heard = (await listener.first(2))[1]
    assert len(heard.attachments) == MAX_FILES
    assert "2 more" in heard.notes[0]


_BELOW = (
    "\n\nSent from my iPhone\n\n> On Nov 20, 2026, at 7:26 PM, Barnacle <b@x.org> wrote:\n> \n{}",
    "\n\nOn Fri, Nov 20, 2026 at 7:26 PM Barnacle of the greenhouse <\nb@example.org> wrote:\n\n{}",
    '\n\n在 2026-11-20 19:26:39，"Barnacle" <b@example.org> 写道：\n\n{}',
)


@pytest.mark.parametrize("below", _BELOW)
@pytest.mark.parametrize("headers", ["both", "In-Reply-To", "none"])
async def test_a_question_is_answered_by_every_program(
    platform: EmailPlatform, below: str, headers: str
) -> None:
    question = Question("pump_on", "{}", "a letter asks for it", question_id="ab3d")
    async with listening(platform.channel) as listener:
        await platform.write("turn the pump on")
        [heard] = await listener.first()
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, question))
        await wait_until(platform.writer.letters)
        [asked] = platform.writer.letters()
        quoted = "\n".join(f"> {line}" for line in platform.writer.read()[0].splitlines())
        letter = platform.writer.letter("yes ab3d" + below.format(quoted))
        if headers != "none":
            letter["In-Reply-To"] = asked["message-id"]
        if headers == "both":
            letter["References"] = f"{asked['references']} {asked['message-id']}"
        await platform.writer.hand_in(letter)
        assert await asyncio.wait_for(asking, 10) is Answer.YES


async def test_a_question_about_a_letter_that_was_passed_on_is_answered(
    platform: EmailPlatform,
) -> None:
    question = Question("pay", "{}", "a letter asks for it", question_id="ab3d")
    async with listening(platform.channel) as listener:
        await platform.write("first")
        await listener.first()
        await platform.writer.write("Is this right?", Subject="Fwd: the bill")
        heard = (await listener.first(2))[1]
        assert heard.is_forwarded
        asking = asyncio.ensure_future(platform.channel.ask(heard.address, question))
        await wait_until(platform.writer.letters)
        [asked] = platform.writer.letters()
        assert asked["subject"] == "Re: Fwd: the bill"
        await platform.writer.write("yes ab3d", asked, Subject="Re: Fwd: the bill")
        assert await asyncio.wait_for(asking, 10) is Answer.YES
        await platform.writer.write("Thanks.", asked, Subject="Re: Fwd: the bill")
        assert not (await listener.first(3))[2].is_forwarded


async def test_a_program_that_names_only_the_letter_before_stays_in_the_thread(
    platform: EmailPlatform,
) -> None:
    async with listening(platform.channel) as listener:
        await platform.write("hello")
        [heard] = await listener.first()
        await platform.channel.send(answer(heard, "It is warm."))
        letter = platform.writer.letter("and now?")
        letter["In-Reply-To"] = platform.writer.letters()[0]["message-id"]
        await platform.writer.hand_in(letter)
        assert (await listener.first(2))[1].thread == heard.thread


async def test_news_that_came_with_another_answer_are_not_waited_for(tmp_path: Path) -> None:
    server = mail_server.shared()
    writer = Writer(server)
    account = receive.ImapAccount(
        "127.0.0.1", server.imap, None, writer.agent, Secret(PASSWORD), "INBOX"
    )
    async with receive.entered(account) as mailbox:
        position = EmailCursor(tmp_path / "position.json", "a")
        await position.advance(mailbox.validity, mailbox.following - 1)
        assert [one async for one in mailbox.new(position)] == []
        await writer.write("while something else is fetched")
        # Whatever is asked now is answered with the news, and the server says them once
        await mailbox._do(mailbox._client.noop)
        async with asyncio.timeout(receive.IDLE_S / 5):
            await mailbox.wait()
        assert len([one async for one in mailbox.new(position)]) == 1
        # What was taken is no news
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await mailbox.wait()


async def test_a_letter_that_breaks_the_parser_holds_up_no_other(platform: EmailPlatform) -> None:
    writer = platform.writer
    head = f"From: {writer.address}\r\nTo: {writer.agent}\r\nSubject: {'(' * 900}\r\n".encode()
    disposition = b"Content-Disposition: " + b"(" * 900
    async with listening(platform.channel) as listener:
        letter = head + disposition + b"\r\n\r\nhello\r\n"
        await writer.server.hand_in(letter, writer.address, writer.agent)
        await platform.write("real")
        await wait_until(lambda: any(one.text == "real" for one in listener.heard))
