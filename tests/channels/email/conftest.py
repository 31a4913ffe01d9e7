from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes import mail_server
from tests.fakes.email_platform import EmailPlatform, Writer
from tests.fakes.relay import Relay


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
