"""The conversation of a browser, from the journal to its page."""

import sqlite3
from pathlib import Path

from agent.access.browser_sessions import digest
from agent.access.people import BROWSERS
from agent.access.roles import PersonRole
from agent.app.console.reception import ConsoleView
from agent.app.console.talk import TalkView
from agent.messages import Inbound, Provenance
from agent.messaging import inbox, outbox
from tests.fakes.console_home import console_home

# As much as a page's field takes
_LONG = "这是一份很长的文件。" * 2_000


def _said(db: sqlite3.Connection, browser: str, count: int) -> None:
    for number in range(count):
        text = f"{number}: {_LONG}"
        message = Inbound(f"{number}", BROWSERS, browser, browser, text, 1.0, Provenance.OWNER)
        accepted = inbox.accept(db, message)
        assert accepted is not None
        outbox.add(db, accepted, text)


async def test_a_chat_of_long_messages_is_shown_with_the_newest(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        home.agent.views["talk"] = ConsoleView(PersonRole.GUEST, TalkView(home.agent.journal).read)
        await home.agent.journal.transact(lambda db: _said(db, digest(session), 60))
        page = await home.get("/chat", session)
        assert page.status == 200
        assert page.text.index("58: ") < page.text.index("59: ")
        assert "bubble mine" in page.text
