"""A conversation by letters over real servers, by cables that can be pulled."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from agent.access.people import PersonAccount
from tests.fakes import mail_server
from tests.fakes.email_platform import Writer
from tests.fakes.mail_server import PASSWORD, VOUCHES
from tests.fakes.relay import Relay
from tests.waits import wait_until


class EmailTalk:
    """Anna's letters and the agent's answers to them."""

    def __init__(self, writer: Writer, imap: Relay, smtp: Relay, state: Path) -> None:
        self._writer = writer
        self._imap = imap
        self._state = state
        self.table = (
            f'[channels.email]\naddress = "{writer.agent}"\npassword = "{PASSWORD}"\n'
            f'imap = "imap://127.0.0.1:{imap.port}"\nsmtp = "submission://127.0.0.1:{smtp.port}"\n'
            f'authserv_id = "{VOUCHES}"\n'
        )
        self.account = PersonAccount(channel="email", sender=writer.address, target=writer.address)

    async def write(self, text: str) -> None:
        # The first start is where the mailbox is read from
        await wait_until((self._state / "email" / "position.json").exists)
        await self._writer.write(text)

    def shown(self) -> list[str]:
        return self._writer.read()

    def cut(self) -> None:
        self._imap.cut()


@contextlib.asynccontextmanager
async def email(folder: Path) -> AsyncIterator[EmailTalk]:
    """By Postfix and Dovecot; the agent's state is beside the folder."""
    server = mail_server.shared()
    imap, smtp = Relay(server.imap), Relay(server.smtp)
    await imap.start()
    await smtp.start()
    yield EmailTalk(Writer(server), imap, smtp, folder.parent / "state")
    await imap.stop()
    await smtp.stop()
