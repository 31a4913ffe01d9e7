"""The mailbox: what is new in it, and what its server fails to hand out."""

import asyncio
import contextlib
import imaplib
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.channels.email import batches, receive
from agent.channels.email.channel import UNREAD, EmailChannel
from agent.channels.email.cursor import EmailCursor
from agent.config import Secret
from agent.errors import ChannelUnavailable
from agent.messages import Inbound, Outbound
from tests.contracts.listener import Listener, listening
from tests.fakes import mail_server
from tests.fakes.email_platform import EmailPlatform, Writer
from tests.fakes.mail_server import PASSWORD, VOUCHES
from tests.fakes.relay import Relay
from tests.waits import wait_until


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
