"""Answers by letter: their threads and files, and servers that take them or do not."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.channels.email import channel
from agent.channels.email.channel import EmailChannel
from agent.errors import ChannelRefused, ChannelUnavailable, MessageRefused
from agent.messages import Attachment, Outbound
from tests.contracts.listener import answer, listening
from tests.fakes import mail_server
from tests.fakes.clock import SteppedClock
from tests.fakes.email_platform import EmailPlatform
from tests.fakes.relay import Relay
from tests.waits import wait_until


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


async def test_an_address_that_the_account_may_not_send_from_is_for_a_person_to_mend(
    platform: EmailPlatform, smtp: Relay
) -> None:
    """Nothing is wrong with any one letter: none of them may be given up."""
    smtp.reach(mail_server.shared().owners)
    said = Outbound(1, "email", platform.writer.address, "hello", "")
    await platform.channel.send(said)
    platform.channel._submission = replace(
        platform.channel._submission, sender="somebody.else@example.org"
    )
    with pytest.raises(ChannelRefused, match=r"send as somebody\.else@example\.org.*not owned by"):
        await EmailChannel.send(platform.channel, said)


@pytest.mark.parametrize("to", ["nobody@elsewhere.net", "not an address", "a@b\r\nBcc: c@d.org"])
async def test_whom_the_server_does_not_know_gets_nothing_and_it_is_said(
    platform: EmailPlatform, to: str
) -> None:
    with pytest.raises(MessageRefused):
        await EmailChannel.send(platform.channel, Outbound(1, "email", to, "hello", ""))
