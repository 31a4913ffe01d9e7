"""Our server against the protocol's own suite, as far as the suite asks for no tools of its own.

Most of its scenarios call tools and read resources that a server has to have for the suite alone,
such as `test_simple_text`; a device has others. What is left is the protocol itself.
"""

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.lent_agent import Lent, lent
from tests.structure.sources import ROOT

_FAKES = ROOT / "tests" / "fakes"
# Where scripts/test puts it
_SUITE = ROOT / ".barnacle" / "mcp_conformance" / "node_modules"
_PROGRAM = _SUITE / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
LIMIT_S = 90
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    # With a session, which a client gets whose form may ask
    "server-sse-multiple-streams",
)

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node, which runs it"),
    pytest.mark.skipif(not _PROGRAM.exists(), reason=f"there is no {_PROGRAM}: run scripts/test"),
    pytest.mark.timeout(2 * LIMIT_S),
]


@contextlib.asynccontextmanager
async def with_token(made: Lent) -> AsyncIterator[str]:
    """Yield an address at which each request gets a token: the suite knows none."""
    told = f"\r\nauthorization: Bearer {await made.token()}\r\nconnection: close\r\n\r\n".encode()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward, answers = await asyncio.open_connection("127.0.0.1", made.gateway.port)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            head = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head)
            answers.write(head.removesuffix(b"\r\n\r\n") + told)
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            answers.write(await reader.readexactly(int(length[1]) if length else 0))
            while piece := await onward.read(65536):
                writer.write(piece)
                await writer.drain()
        answers.close()
        writer.close()

    server = await asyncio.start_server(meet, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()


async def run(folder: Path, scenario: str) -> str:
    """Return what the suite says of a scenario."""
    elicit = 'elicit = ["watch"]'
    async with (
        lent(folder, assistants=("mcp",), gateway=elicit) as made,
        with_token(made) as url,
    ):
        process = await asyncio.create_subprocess_exec(
            *("node", "--import", str(_FAKES / "mcp_conformance" / "older_node.mjs")),
            *(str(_PROGRAM), "server", "--url", url, "--scenario", scenario),
            *("--output-dir", str(folder / "results")),
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate()
    return out.decode()


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_suite_is_content(tmp_path: Path, scenario: str) -> None:
    told = await run(tmp_path, scenario)
    assert "0 failed, 0 warnings" in told, told[-4000:]


async def test_a_page_of_somebody_else_is_refused(tmp_path: Path) -> None:
    # The scenario also wants pages of this machine to be let in, where a server asks for no token;
    # ours asks for one, and lets no page in
    told = await run(tmp_path, "dns-rebinding-protection")
    assert re.search(r"localhost-host-rebinding-rejected *\S* *\S*SUCCESS", told), told[-4000:]
