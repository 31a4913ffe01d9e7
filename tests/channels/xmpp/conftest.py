from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes import xmpp_conversation
from tests.fakes.xmpp_platform import XmppPlatform


@pytest.fixture
async def platform(tmp_path: Path) -> AsyncIterator[XmppPlatform]:
    """Anna in a room of a real server, and an agent that has not begun to listen."""
    async with xmpp_conversation.platform(tmp_path) as (made, _):
        yield made
