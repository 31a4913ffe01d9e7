"""Contract of every file that keeps what a channel has read: bytes, restart, damage, no room."""

import logging
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.channels.email.cursor import EmailCursor
from agent.channels.email.inbound import ReceivedEmail
from agent.channels.email.threads import EmailThreads
from agent.channels.imessage.cursor import ImessageCursor
from agent.channels.matrix.cursor import MatrixCursor
from agent.channels.mattermost.cursor import MattermostCursor
from agent.channels.ntfy.channel import NtfyCursor
from agent.channels.opcodes.session import GatewaySession, ResumableSession
from agent.channels.signal.cursor import SignalCursor
from agent.channels.started_drafts import StartedDrafts
from agent.channels.telegram.cursor import TelegramCursor
from agent.channels.xmpp.cursor import XmppCursor
from tests.fakes.clock import SteppedClock

KEY = ("chat", None, "m1")


@dataclass(frozen=True)
class Kept:
    """A file: what is written, its bytes for ever, and what a new start finds in it."""

    write: Callable[[Path], Awaitable[object]]
    content: bytes
    read: Callable[[Path], Awaitable[object]]
    found: object
    nothing: object


async def _email_write(path: Path) -> None:
    cursor = EmailCursor(path, "anna@example.org")
    await cursor.load()
    await cursor.advance(7, 42)


async def _email_read(path: Path) -> object:
    cursor = EmailCursor(path, "anna@example.org")
    await cursor.load()
    return cursor.is_known, cursor.validity, cursor.uid


def _letter() -> ReceivedEmail:
    sender = ("anna@example.org", "Anna")
    return ReceivedEmail("<1@x>", *sender, "Hi", "hello", "", ("<0@x>",), ())


async def _threads_write(path: Path) -> None:
    threads = EmailThreads(path)
    await threads.note(_letter(), "<0@x>")
    await threads.save()


async def _threads_read(path: Path) -> object:
    heading = await EmailThreads(path).heading("<1@x>")
    return heading.subject, heading.references


async def _imessage_write(path: Path) -> None:
    cursor = ImessageCursor(path, "http://mac")
    await cursor.begin(5, 1000)
    cursor.note("g1", 6)
    await cursor.save()


async def _imessage_read(path: Path) -> object:
    cursor = ImessageCursor(path, "http://mac")
    return await cursor.load(), cursor.row, cursor.has_seen("g1"), cursor.is_old(999)


async def _matrix_write(path: Path) -> None:
    cursor = MatrixCursor(path)
    await cursor.load("@a:x")
    await cursor.advance("s1")
    await cursor.tell("!r")


async def _matrix_read(path: Path) -> object:
    cursor = MatrixCursor(path)
    await cursor.load("@a:x")
    return cursor.after, cursor.was_told("!r")


async def _mattermost_write(path: Path) -> None:
    cursor = MattermostCursor(path)
    await cursor.begin("me", 1000)
    cursor.note("p1", 2000)
    await cursor.save()


async def _mattermost_read(path: Path) -> object:
    cursor = MattermostCursor(path)
    return await cursor.load("me"), cursor.since_ms, cursor.has_seen("p1")


async def _ntfy_write(path: Path) -> None:
    await NtfyCursor(path, "lab").advance("id1")


async def _ntfy_read(path: Path) -> object:
    cursor = NtfyCursor(path, "lab")
    await cursor.load()
    return cursor.since


async def _signal_write(path: Path) -> None:
    cursor = SignalCursor(path)
    await cursor.load("+49")
    await cursor.advance("9")


async def _signal_read(path: Path) -> object:
    cursor = SignalCursor(path)
    await cursor.load("+49")
    return cursor.after


async def _telegram_write(path: Path) -> None:
    await TelegramCursor(path, SteppedClock(wall_s=1000.5)).advance(12)


async def _telegram_read(path: Path) -> object:
    cursor = TelegramCursor(path, SteppedClock(wall_s=2000.0))
    await cursor.load()
    return cursor.offset


async def _xmpp_write(path: Path) -> None:
    cursor = XmppCursor(path)
    await cursor.load("a@x")
    await cursor.advance("", "id1", 5.5)


async def _xmpp_read(path: Path) -> object:
    cursor = XmppCursor(path)
    await cursor.load("a@x")
    mark = cursor.mark("")
    return None if mark is None else (mark.after, mark.at_s)


async def _gateway_write(path: Path) -> None:
    session = GatewaySession(path, "bot")
    session.begun = ResumableSession("bot", "s1", "me", "wss://x", 3)
    await session.save()


async def _gateway_read(path: Path) -> object:
    session = GatewaySession(path, "bot")
    await session.load()
    return None if session.begun is None else (session.begun.session_id, session.begun.seq)


async def _drafts_write(path: Path) -> None:
    await StartedDrafts(path).note(KEY, "")


async def _drafts_read(path: Path) -> object:
    return await StartedDrafts(path).left(KEY)


FILES = {
    "email": Kept(
        _email_write,
        b'{"account":"anna@example.org","validity":7,"uid":42,"series":"abababab",'
        b'"folder":"INBOX"}',
        _email_read,
        (True, 7, 42),
        (False, 0, 0),
    ),
    "email threads": Kept(
        _threads_write,
        b'{"<1@x>":{"subject":"Hi","references":["<0@x>"],"thread":"<0@x>"}}',
        _threads_read,
        ("Hi", ("<0@x>",)),
        ("", ()),
    ),
    "imessage": Kept(
        _imessage_write,
        b'{"server":"http://mac","floor_row":5,"floor_ms":1000,"row":6,"seen":["g1"]}',
        _imessage_read,
        (True, 6, True, True),
        (False, 0, False, False),
    ),
    "matrix": Kept(
        _matrix_write,
        b'{"account":"@a:x","after":"s1","series":"abababab","told":["!r"]}',
        _matrix_read,
        ("s1", True),
        ("", False),
    ),
    "mattermost": Kept(
        _mattermost_write,
        b'{"account":"me","floor_ms":1000,"at_ms":2000,"seen":{"p1":2000}}',
        _mattermost_read,
        (True, 1000, True),
        (False, 0, False),
    ),
    "ntfy": Kept(_ntfy_write, b'{"topic": "lab", "since": "id1"}', _ntfy_read, "id1", ""),
    "signal": Kept(_signal_write, b'{"account": "+49", "after": "9"}', _signal_read, "9", ""),
    "telegram": Kept(
        _telegram_write, b'{"offset": 12, "saved_at_s": 1000.5}', _telegram_read, 12, 0
    ),
    "xmpp": Kept(
        _xmpp_write,
        b'{"account":"a@x","series":"abababab","marks":{"":{"after":"id1","at_s":5.5}}}',
        _xmpp_read,
        ("id1", 5.5),
        None,
    ),
    "gateway session": Kept(
        _gateway_write,
        b'{"account":"bot","session_id":"s1","me":"me","url":"wss://x","seq":3}',
        _gateway_read,
        ("s1", 3),
        None,
    ),
    "started drafts": Kept(_drafts_write, b'[["chat",null,"m1",""]]', _drafts_read, "", None),
}


@pytest.fixture(params=FILES, autouse=True)
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kept:
    monkeypatch.setattr(secrets, "token_hex", lambda count: "ab" * count)
    return FILES[request.param]


async def test_the_bytes_stay_the_same(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "channel" / "kept.json"
    await kept.write(path)
    assert path.read_bytes() == kept.content
    assert [one.name for one in path.parent.iterdir()] == [path.name]


async def test_a_new_start_finds_it(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_bytes(kept.content)
    assert await kept.read(path) == kept.found


@pytest.mark.parametrize(
    "content",
    [None, b"", b"\xff", b"null", b'{"offset": "x', b"[" * 100_000, b'{"account": 7}', b'[["x"]]'],
    ids=["none", "empty", "binary", "null", "cut", "deep", "wrong type", "wrong row"],
)
async def test_a_damaged_file_is_as_good_as_none(
    kept: Kept, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "kept.json"
    if content is not None:
        path.write_bytes(content)
    assert await kept.read(path) == kept.nothing


async def test_a_channel_goes_on_where_nothing_can_be_kept(
    kept: Kept, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A file where the folder should be: root cannot write there either
    (tmp_path / "channel").write_bytes(b"")
    with caplog.at_level(logging.WARNING):
        await kept.write(tmp_path / "channel" / "kept.json")
    assert "not saved" in caplog.text or "not recorded" in caplog.text
