"""F37: bombs and oversized things: an answer within 40 s, and the agent grows by less than 10 MB.

Once in the sandbox and once in the process with limits that stands in for it. What is an archive
is opened by nothing here at all.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from agent.errors import BadArguments, CommandRefused
from agent.memory.pdf import pages_of
from agent.net.http import HttpClient
from agent.security.argv import accepted
from agent.security.sandbox.base import Sandbox
from agent.security.web_addresses import WebRules
from agent.tools import helper_program
from agent.tools.content_search import ContentSearchTool
from agent.tools.files import FileListTool, FileReadTool
from agent.tools.glob_search import GlobSearchTool
from agent.tools.results import shortened
from agent.tools.settings import PROGRAMS, ShellSettings
from agent.tools.shell import ShellTool, Workshop
from agent.tools.web import Web
from agent.tools.web_fetch import WebFetchTool
from tests.fakes import bombs, pdfs
from tests.fakes.pages import PreparedWeb, page
from tests.fakes.raw_server import serving
from tests.fakes.sandbox import bubblewrap, no_bubblewrap
from tests.fakes.workspace import refused, told, used, workspace_in

MOST_GROWTH_KB = 10 * 1024
ANSWER_S = 40
# More than any tool looks at, and as slow to make as a test may be
MANY_FILES = 30_000


def resident_kb(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


@asynccontextmanager
async def staying_small() -> AsyncIterator[None]:
    """The largest the agent was, not only what it came back to."""
    # Makes the kernel forget the largest until now
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # noqa: ASYNC240 - the kernel's
    before_kb, begun_s = resident_kb("VmRSS"), time.monotonic()
    yield
    assert time.monotonic() - begun_s < ANSWER_S
    assert resident_kb("VmHWM") - before_kb < MOST_GROWTH_KB


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes a second of the processor is as hostile as what takes ten."""
    monkeypatch.setattr(helper_program, "PROCESSOR_S", 1.0)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return workspace_in(tmp_path)


@pytest.fixture(params=["bubblewrap", "limits alone"])
def sandbox(request: pytest.FixtureRequest, workspace: Path) -> Sandbox | None:
    if request.param == "limits alone":
        return None
    if reason := no_bubblewrap():
        pytest.skip(reason)
    return bubblewrap(workspace)


@pytest.fixture
def best(workspace: Path) -> Sandbox | None:
    """What this machine has: each way to keep apart has met bombs enough."""
    return None if no_bubblewrap() else bubblewrap(workspace)


@pytest.mark.parametrize(
    "make",
    [
        partial(pdfs.bomb, 300_000_000),
        bombs.looping_pdf,
        lambda: b"%PDF-1.4\n" + b"[" * 2_000_000,
        lambda: b"%PDF-1.7\n" + b"1 0 obj <</Length 9999999999>> stream\n" * 20_000,
    ],
    ids=["unfolding", "looping", "nested", "lying"],
)
async def test_a_pdf(sandbox: Sandbox | None, workspace: Path, make: Callable[[], bytes]) -> None:
    (workspace / "sheet.pdf").write_bytes(make())
    tool = FileReadTool(workspace, partial(pages_of, sandbox=sandbox))
    async with staying_small():
        assert "cannot be read" in await refused(tool, path="sheet.pdf")


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 400_000,
        b"<" * 2_000_000,
        b"<a href='" * 200_000,
        b"<p " + b"a=b " * 450_000 + b">",
        b"<li>" * 450_000,
        b"&amp;" * 400_000,
        b"<!--" * 500_000,
        b"<![CDATA[" * 200_000,
        bombs.xml_bomb(),
    ],
    ids=[
        "deep",
        "open",
        "links",
        "attributes",
        "list",
        "entities",
        "comments",
        "sections",
        "laughs",
    ],
)
async def test_a_page(best: Sandbox | None, body: bytes) -> None:
    web = PreparedWeb({"https://example.org/": page(body, "text/html")}).web
    # What is loaded with the first page is not what it grows by
    warm = PreparedWeb({"https://example.org/": page(b"<p>hello", "text/html")}).web
    await used(WebFetchTool(warm, best), url="https://example.org/")
    async with staying_small():
        result = await used(WebFetchTool(web, best), url="https://example.org/")
    assert len(result.text) < 100_000


async def test_an_answer_that_is_packed_is_not_unpacked() -> None:
    """It was asked for as it is; whoever packs it all the same is read as it comes."""
    packed = {"gzip": bombs.gzip_bomb(100), "deflate": bombs.deflate_bomb(100)}
    for encoding, body in packed.items():

        async def serve(
            reader: asyncio.StreamReader,
            writer: asyncio.StreamWriter,
            *,
            body: bytes = body,
            encoding: str = encoding,
        ) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(
                f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: {encoding}\r\n"
                f"content-length: {len(body)}\r\n\r\n".encode()
            )
            writer.write(body)
            await writer.drain()

        async with serving(serve) as url:
            http = HttpClient()
            try:
                rules = WebRules(local=(url.removeprefix("http://"),))
                tool = WebFetchTool(Web(http, rules))
                async with staying_small():
                    result = await used(tool, url=f"{url}/")
            finally:
                await http.aclose()
        assert len(result.text) < 100_000


@pytest.mark.parametrize(
    "make",
    [
        partial(bombs.zip_bomb, 10),
        bombs.tar_bomb,
        partial(bombs.gzip_bomb, 100),
        bombs.png_bomb,
    ],
    ids=["zip", "tar", "gzip", "png"],
)
async def test_an_archive_is_opened_by_nothing(
    sandbox: Sandbox | None, workspace: Path, make: Callable[[], bytes]
) -> None:
    (workspace / "thing").write_bytes(make())
    reading = FileReadTool(workspace, partial(pages_of, sandbox=sandbox))
    async with staying_small():
        assert "not text" in await refused(reading, path="thing")
        await told(ContentSearchTool(workspace, sandbox), query="pump|lamp", regex=True)
    for argv in (
        *(["tar", "xf", "thing"], ["unzip", "thing"], ["gunzip", "thing"], ["zcat", "thing"]),
        *(["file", "-z", "thing"], ["zgrep", "x", "thing"], ["sort", "--decompress", "thing"]),
    ):
        with pytest.raises(CommandRefused):
            accepted(argv, PROGRAMS)


async def test_an_expression_that_explodes(sandbox: Sandbox | None, workspace: Path) -> None:
    (workspace / "a.txt").write_text("a" * 5_000 + "!")
    tool = ContentSearchTool(workspace, sandbox)
    async with staying_small():
        text = await refused(tool, query="(a+)+$", regex=True, path="a.txt")
    assert "simpler pattern" in text


@pytest.mark.parametrize("depth", [1_000, 100_000, 400_000])
async def test_json_that_is_nested(workspace: Path, depth: int) -> None:
    deep = bombs.deep_json(depth)
    async with staying_small():
        with pytest.raises(BadArguments):
            FileReadTool(workspace).parse(deep)
        assert len(shortened(deep, 1_000, "cut")) <= 1_000


async def test_arguments_that_are_too_long(workspace: Path) -> None:
    wide = bombs.wide_json(2)
    async with staying_small():
        with pytest.raises(BadArguments, match="longer than"):
            FileReadTool(workspace).parse(wide)


async def test_files_without_number(workspace: Path, best: Sandbox | None) -> None:
    many = workspace / "many"
    many.mkdir()
    for number in range(MANY_FILES):
        (many / f"{number:06}.txt").touch()
    tools = (
        (FileListTool(workspace), {"path": "many"}),
        (GlobSearchTool(workspace), {"pattern": "**/*.txt"}),
        (ContentSearchTool(workspace, best), {"query": "x"}),
    )
    for tool, arguments in tools:
        async with staying_small():
            await used(tool, **arguments)
    if best is not None:
        shell = ShellTool(Workshop(best, workspace, ShellSettings()))
        async with staying_small():
            text = await refused(shell, argv=["find", ".", "-ls"])
        assert '"ended":"it printed too much"' in text


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
@pytest.mark.parametrize(
    "script",
    [
        "head -c 2000000000 /dev/zero",
        "head -c 2000000000 /dev/zero | sort",
        "head -c 2000000000 /dev/zero > big; head -c 900000000 /dev/zero > /tmp/big",
        "yes > /dev/shm/big; yes >&2",
        "tail /dev/zero",
    ],
)
async def test_a_script_that_takes_everything(workspace: Path, script: str) -> None:
    shell = ShellTool(Workshop(bubblewrap(workspace), workspace, ShellSettings()))
    async with staying_small():
        await used(shell, script=script)
    assert bytes_in(workspace) < 20 * bombs.MB


def bytes_in(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.iterdir() if one.is_file())
