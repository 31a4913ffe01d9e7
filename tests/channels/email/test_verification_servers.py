"""Forged and honest letters through Debian's Postfix, policyd-spf, OpenDKIM and OpenDMARC."""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from agent.channels.context import ChannelContext
from agent.channels.email.channel import EmailChannel
from agent.channels.email.receive import ImapAccount
from agent.channels.email.send import SmtpSubmission, SmtpTls
from agent.channels.received_files import ReceivedFiles
from agent.config import Secret
from agent.messages import Inbound
from agent.net.tls import unchecked_context
from agent.system.clock import SystemClock
from tests.contracts.channel import listening
from tests.fakes import checked_mail
from tests.fakes.checked_mail import OWNER_DOMAIN, STRANGER_DOMAIN, WAYS_IN, CheckedMail
from tests.fakes.forged_letters import OWNER, Forgery, forgeries
from tests.fakes.mail_server import PASSWORD
from tests.waits import wait_until

_AGENT = "agent@example.org"


@pytest.fixture(scope="module")
def server() -> Iterator[CheckedMail]:
    # pytest closes its own folders to the users of the servers
    with (
        tempfile.TemporaryDirectory(prefix="mail-") as folder,
        checked_mail.running(Path(folder)) as started,
    ):
        yield started


def _channel(server: CheckedMail, folder: Path) -> EmailChannel:
    password = Secret(PASSWORD)
    return EmailChannel(
        ImapAccount("127.0.0.1", server.imap, None, _AGENT, password, "INBOX"),
        SmtpSubmission("127.0.0.1", 1, unchecked_context(), SmtpTls.OFFERED, "", password, ""),
        checked_mail.AUTHSERV_ID,
        ChannelContext(folder / "email", ReceivedFiles(folder / "inbox"), lambda _: True),
        SystemClock(),
    )


def _written(server: CheckedMail, forgery: Forgery) -> bytes:
    if forgery.identity is None:
        return forgery.text()
    signer = server.signers[STRANGER_DOMAIN]
    return signer.signed(forgery.text(), forgery.identity, forgery.signs_as)


def _honest(server: CheckedMail) -> Iterator[tuple[str, str, bytes, str]]:
    """Return what is to be heard: by which way in, under which name, the letter, its envelope."""
    signer = server.signers[OWNER_DOMAIN]
    relayed = f"bounce@{STRANGER_DOMAIN}"
    for way in ("all", "spf"):
        yield way, f"{way}-sent", Forgery(f"{way}-sent").text(), OWNER
    for way in ("all", "dkim"):
        yield way, f"{way}-signed", signer.signed(Forgery(f"{way}-signed").text()), relayed
    named = Forgery("all-named", author=f'From: "Anna, of Mail" <{OWNER.upper()}>')
    yield "all", named.name, signer.signed(named.text(), f"@{OWNER_DOMAIN}"), OWNER


async def test_no_stranger_is_taken_for_the_owner_and_the_owner_always_is(
    server: CheckedMail, tmp_path: Path
) -> None:
    honest = [*_honest(server)]
    async with listening(_channel(server, tmp_path)) as listener:
        await wait_until((tmp_path / "email" / "position.json").exists)
        tried, came = await _hand_in_forged(server)
        await asyncio.to_thread(server.wait_for_letters, _AGENT, came)
        for way, _, letter, envelope in honest:
            assert await asyncio.to_thread(server.submit, way, letter, envelope, _AGENT) == ""
        await wait_until(lambda: len(_of_owner(listener.heard)) >= len(honest))
    assert sorted(_of_owner(listener.heard)) == sorted(name for _, name, _, _ in honest)
    # The rest is worth nothing where the servers refuse it all
    assert came > tried / 2
    sys.stdout.write(
        f"\n{tried} forged letters ({tried // len(WAYS_IN)} forms by {len(WAYS_IN)} ways in), "
        f"{came} delivered, 0 heard as the owner; {len(honest)} of {len(honest)} honest heard\n"
    )


async def _hand_in_forged(server: CheckedMail) -> tuple[int, int]:
    """Return how many were tried, and how many of them the servers took."""
    forged = [*product(WAYS_IN, forgeries())]
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(4) as pool:
        replies = [
            loop.run_in_executor(
                pool, server.submit, way, _written(server, one), one.envelope, _AGENT
            )
            for way, one in forged
        ]
        return len(forged), sum(not reply for reply in await asyncio.gather(*replies))


def _of_owner(heard: list[Inbound]) -> list[str]:
    return [one.text for one in heard if one.sender == OWNER]
