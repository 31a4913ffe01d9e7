import asyncio
from collections.abc import Sequence
from email.message import EmailMessage

import pytest

from agent.channels.base import Answer, Question
from agent.channels.email import channel
from agent.channels.email.bulk import LetterBulk
from agent.channels.email.channel import SEALED
from agent.channels.email.contents import MAX_FILES
from agent.channels.email.inbound import ReceivedEmail, read_letter
from agent.channels.email.replays import NOT_NAMED
from agent.errors import ChannelUnavailable
from tests.contracts.listener import answer, listening
from tests.fakes.email_platform import EmailPlatform
from tests.waits import PATIENCE_S, wait_until


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
        await platform.settled()
        writer.address, known = "mallory@example.org", writer.address
        await writer.write("lamp on", sender=known)
        writer.address = known
        await writer.write("real")
        await listener.first()
    assert read == [f"Anna <{known}>"]


async def to_another_address(platform: EmailPlatform, text: str) -> None:
    """By a forwarding address that nobody has named to the agent."""
    letter = platform.writer.letter(text, subject="pump")
    letter.replace_header("To", "home@example.net")
    await platform.writer.hand_in(letter)


async def test_whoever_writes_to_an_alias_that_is_not_named_is_told_once(
    platform: EmailPlatform,
) -> None:
    for _run in range(2):
        async with listening(platform.restarted()) as listener:
            await platform.write("a real one")
            await listener.first()
            for _letter in range(2):
                await to_another_address(platform, "pump on")
            await wait_until(platform.writer.letters)
            await platform.write("another one")
            await listener.first(2)
            assert [one.text for one in listener.heard] == ["a real one", "another one"]
    [told] = platform.writer.letters()
    assert told["To"] == platform.writer.address
    assert told["Auto-Submitted"] == "auto-generated"
    text = told.get_content()
    assert "aliases" in text
    # Somebody may have handed in an old letter, with anything beside its signature
    assert "pump" not in text + told["Subject"]
    assert "example.net" not in text


async def test_a_stranger_is_told_of_no_alias(
    platform: EmailPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    platform.knows = False
    async with listening(platform.channel) as listener:
        await platform.write("a real one")
        await listener.first()
        await to_another_address(platform, "pump on")
        await wait_until(lambda: NOT_NAMED in caplog.text)
        await platform.write("another one")
        await listener.first(2)
    assert platform.writer.letters() == []


async def test_who_cannot_be_told_of_an_alias_holds_up_no_letter(
    platform: EmailPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = list[str]()

    async def away(letter: EmailMessage, _where: object) -> None:
        tries.append(str(letter["To"]))
        raise ChannelUnavailable("the mail server is away")

    async with listening(platform.channel) as listener:
        await platform.write("a real one")
        await listener.first()
        with monkeypatch.context() as cut:
            cut.setattr(channel, "submit", away)
            await to_another_address(platform, "pump on")
            await wait_until(lambda: tries)
            await platform.write("another one")
            await listener.first(2)
        # It is said with the next
        await to_another_address(platform, "pump on")
        await wait_until(platform.writer.letters)
    assert tries == [platform.writer.address]


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
        assert await asyncio.wait_for(asking, PATIENCE_S) is Answer.YES


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
        assert await asyncio.wait_for(asking, PATIENCE_S) is Answer.YES
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


async def test_a_letter_that_breaks_the_parser_holds_up_no_other(platform: EmailPlatform) -> None:
    writer = platform.writer
    head = f"From: {writer.address}\r\nTo: {writer.agent}\r\nSubject: {'(' * 900}\r\n".encode()
    disposition = b"Content-Disposition: " + b"(" * 900
    async with listening(platform.channel) as listener:
        await platform.settled()
        letter = head + disposition + b"\r\n\r\nhello\r\n"
        await writer.server.hand_in(letter, writer.address, writer.agent)
        await platform.write("real")
        await wait_until(lambda: any(one.text == "real" for one in listener.heard))
