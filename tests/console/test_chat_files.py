"""Files of a chat: piece by piece to the agent and back, to nobody else, and never run."""

from pathlib import Path

import pytest

from agent.console import chat_files
from agent.console.guards import MAX_FILE_BYTES, SESSION_COOKIE
from agent.console.request import form_token
from agent.messages import Attachment
from agent.messaging import inbox, outbox
from tests.fakes.console_home import ConsoleHome, Page, console_home
from tests.waits import wait_until

PICTURE = b"\x89PNG\r\n" + b"x" * 200_000
SCRIPT = b"<script>alert(1)</script>"


async def upload(
    home: ConsoleHome, session: str, content: bytes, query: str = "name=a.png", **headers: str
) -> Page:
    told = {"content-type": "application/octet-stream", "x-barnacle-token": form_token(session)}
    return await home.ask(
        "POST", f"/file?{query}", {**home.headers(session), **told, **headers}, content
    )


async def sent(home: ConsoleHome, session: str, content: bytes, query: str) -> str:
    """Send a file with a message, as the agent keeps it; return its name for the page."""
    number = (await upload(home, session, content, query)).text
    await home.post("/say", session, text="look", files=number)
    kept = await home.agent.journal.transact(lambda db: inbox.accept(db, home.agent.heard[-1]))
    assert kept is not None
    return f"in-{kept.inbox_id}-0"


async def test_a_file_goes_with_its_message_and_is_shown_again(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        ref = await sent(home, session, PICTURE, "name=a%20b.png&type=image%2Fpng")
        (file,) = home.agent.heard[-1].attachments
        assert _read(file) == PICTURE
        assert (file.name, file.media_type) == ("a b.png", "image/png")
        page = await home.get(f"/file?of={ref}", session)
        assert page.status == 200
        assert page.header("content-type") == "image/png"
        assert page.header("content-disposition").startswith("inline")
        assert "sandbox" in page.header("content-security-policy")
        assert page.header("x-content-type-options") == "nosniff"


def _read(file: Attachment) -> bytes:
    return Path(file.path).read_bytes()


def _put_link(path: Path, to: Path) -> None:
    path.unlink()
    path.symlink_to(to)


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "text/javascript", "", "x" * 99])
async def test_what_could_run_is_only_ever_downloaded(tmp_path: Path, kind: str) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        ref = await sent(home, session, SCRIPT, f"name=a.html&type={kind}")
        page = await home.get(f"/file?of={ref}", session)
        assert page.header("content-type") == "application/octet-stream"
        assert page.header("content-disposition").startswith("attachment")
        assert "sandbox" in page.header("content-security-policy")


async def test_a_file_of_one_browser_is_nobody_else_s(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        mine, other = await home.session(), await home.session("user")
        ref = await sent(home, mine, PICTURE, "name=a.png&type=image/png")
        assert (await home.get(f"/file?of={ref}", mine)).status == 200
        assert (await home.get(f"/file?of={ref}", other)).status == 404
        assert (await home.get(f"/file?of={ref}")).status in {401, 404}
        number = (await upload(home, mine, PICTURE)).text
        await home.post("/say", other, text="mine now", files=number)
        assert home.agent.heard[-1].attachments == ()
        assert home.agent.heard[-1].notes
        await home.post("/say", mine, text="", files=number)
        assert len(home.agent.heard[-1].attachments) == 1


@pytest.mark.parametrize("ref", ["", "in-1-9", "out-1-0", "../people.json", "in-1-0%00", "now-x"])
async def test_what_is_no_file_of_the_conversation_is_not_there(tmp_path: Path, ref: str) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        assert (await home.get(f"/file?of={ref}", session)).status == 404


async def test_a_link_that_was_put_in_its_place_is_not_followed(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        ref = await sent(home, session, PICTURE, "name=a.png&type=image/png")
        _put_link(Path(home.agent.heard[-1].attachments[0].path), tmp_path / "people.json")
        assert (await home.get(f"/file?of={ref}", session)).status == 404
        outside = Attachment("/etc/hostname", "text/plain", "hostname", 3)
        await home.agent.journal.transact(
            lambda db: outbox.announce(
                db, "console", home.agent.heard[-1].reply_target, "x", None, [outside]
            )
        )
        assert (await home.get("/file?of=out-1-0", session)).status == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"x-barnacle-token": "0" * 32}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        ({"cookie": f"{SESSION_COOKIE}={'A' * 43}"}, 403),
    ],
)
async def test_another_site_sends_no_file(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        assert (await upload(home, session, PICTURE, **headers)).status == status
        folder = tmp_path / "inbox"
        assert not folder.exists() or list(folder.iterdir()) == []


async def test_a_file_that_is_too_large_is_refused_before_it_comes(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        answer = await home.say(_head(home, session, MAX_FILE_BYTES + 1))
        assert answer.startswith(b"HTTP/1.1 413")


async def test_a_file_that_stops_coming_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_files, "_SILENT_S", 0.2)
    async with console_home(tmp_path) as home:
        session = await home.session()
        head = _head(home, session, 9)
        assert (await home.say(head + b"half")).startswith(b"HTTP/1.1 408")
        await wait_until(lambda: not any((tmp_path / "inbox").iterdir()))


async def test_an_empty_file_is_refused_in_words(tmp_path: Path) -> None:
    async with console_home(tmp_path) as home:
        session = await home.session()
        page = await upload(home, session, b"")
        assert page.status == 422
        assert "empty" in page.text


def _head(home: ConsoleHome, session: str, length: int) -> bytes:
    told = {"content-type": "application/octet-stream", "x-barnacle-token": form_token(session)}
    lines = {**home.headers(session), **told, "content-length": str(length)}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST /file HTTP/1.1\r\n{head}connection: close\r\n\r\n".encode()
