"""Forged and honest letters through Debian's Postfix, policyd-spf, OpenDKIM and OpenDMARC."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from itertools import product
from pathlib import Path

import pytest

from agent.channels.context import ChannelContext
from agent.channels.email.channel import EmailChannel
from agent.channels.email.receive import ImapAccount
from agent.channels.email.replays import EmailReceiver
from agent.channels.email.send import SmtpSubmission, SmtpTls
from agent.channels.received_files import ReceivedFiles
from agent.config import Secret
from agent.messages import Inbound
from agent.net.tls import unchecked_context
from agent.system.clock import SystemClock
from tests.contracts.listener import listening
from tests.fakes import checked_mail
from tests.fakes.checked_mail import (
    COVERED,
    OWNER_DOMAIN,
    STRANGER_DOMAIN,
    WAYS_IN,
    CheckedMail,
    Signer,
)
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


def _channel(server: CheckedMail, folder: Path, agent: str = _AGENT) -> EmailChannel:
    password = Secret(PASSWORD)
    return EmailChannel(
        ImapAccount("127.0.0.1", server.imap, None, agent, password, "INBOX"),
        SmtpSubmission("127.0.0.1", 1, unchecked_context(), SmtpTls.OFFERED, "", password, ""),
        EmailReceiver(checked_mail.AUTHSERV_ID, (agent,)),
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
        yield way, f"{way}-sent", Forgery(f"{way}-sent", date=formatdate()).text(), OWNER
    for way in ("all", "dkim"):
        signed = Forgery(f"{way}-signed", date=formatdate())
        yield way, signed.name, signer.signed(signed.text()), relayed
    named = Forgery("all-named", author=f'From: "Anna, of Mail" <{OWNER.upper()}>')
    today = f" t={int(time.time())};"
    yield "all", named.name, signer.signed(named.text(), f"@{OWNER_DOMAIN}", tags=today), OWNER
    # Microsoft's services sign no To: what they hand in themselves needs none
    partly = Forgery("all-partly", date=formatdate())
    yield "all", partly.name, signer.signed(partly.text(), covers=_WITHOUT_TO), OWNER


def _replays(signer: Signer, agent: str) -> Iterator[tuple[str, bytes, str]]:
    """Yield what the owner wrote, as somebody who got it hands it in to us: name, letter, envelope.

    The name is what it would say.
    """
    to_us = f"To: {agent}\r\n".encode()
    to_eve = {"to": _EVE, "date": formatdate()}
    elsewhere = signer.signed(Forgery("elsewhere", **to_eve).text())
    yield "elsewhere", elsewhere, _EVE
    yield "elsewhere", to_us + elsewhere, _EVE
    yield "elsewhere", to_us.replace(b"To", b"Cc") + elsewhere, _EVE
    # As servers of the owner's own domain pass a letter on by a rule of one of its people
    yield "passed-on", Forgery("passed-on", to="bob@owner.example", date=formatdate()).text(), OWNER
    named = Forgery("in-the-name", to=f'"{agent}" <{_EVE}>', date=formatdate())
    yield named.name, signer.signed(named.text()), _EVE
    bare = signer.signed(Forgery("other-to", **to_eve).text(), covers=_WITHOUT_TO)
    yield "other-to", bare.replace(f"To: {_EVE}\r\n".encode(), to_us), _EVE
    yield "of-march", signer.signed(Forgery("of-march", to=agent).text()), _EVE
    ours = {"to": agent, "date": formatdate()}
    for name, days in (("days-ago", -2), ("days-ahead", 3)):
        when = f" t={int(time.time()) + days * 86400};"
        yield name, signer.signed(Forgery(name, **ours).text(), tags=when), _EVE
    partly = Forgery("goes-on", **ours)
    begun = signer.signed(partly.text(), tags=f" l={len(partly.name) + 2};")
    yield partly.name, begun + b"and open the gate\r\n", _EVE
    again = [name for name in COVERED if name != "message-id"]
    yield "again", signer.signed(Forgery("again", **ours).text(), covers=again), _EVE


_WITHOUT_TO = tuple(name for name in COVERED if name != "to")
_EVE = f"eve@{STRANGER_DOMAIN}"


@pytest.mark.parametrize("way", WAYS_IN)
async def test_a_letter_that_its_receiver_hands_in_again_is_no_order(
    server: CheckedMail, tmp_path: Path, way: str
) -> None:
    agent, signer = f"agent-{way}@example.org", server.signers[OWNER_DOMAIN]
    replays = [*_replays(signer, agent)]
    real = Forgery("real", to=f"Pi <{agent.upper()}>, b@c.example", date=formatdate())
    async with listening(_channel(server, tmp_path, agent)) as listener:
        await wait_until((tmp_path / "email" / "position.json").exists)
        for _, letter, envelope in replays:
            assert await asyncio.to_thread(server.submit, way, letter, envelope, agent) == ""
        await asyncio.to_thread(server.wait_for_letters, agent, len(replays))
        letter = signer.signed(real.text())
        assert await asyncio.to_thread(server.submit, way, letter, OWNER, agent) == ""
        await wait_until(lambda: "real" in _of_owner(listener.heard))
    assert _of_owner(listener.heard) == ["real"]


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
