"""Our server against the protocol's own suite.

The agent is a whole one with its own gateway, gate and owner; beside its tools it has those that
the suite calls by name.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from agent.channels.base import Answer
from agent.gateway.assistants.mcp import offer
from agent.gateway.assistants.mcp.methods import VERSIONS
from tests.fakes import mcp_suite
from tests.fakes.lent_agent import Lent, lent
from tests.fakes.mcp_suite_tools import SUITE_OFFER, suite_tools

SCENARIOS = (
    "server-initialize",
    "server-session-lifecycle",
    # With a session, which a client gets whose form may ask
    "server-sse-multiple-streams",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    # The form is the gate's; what the suite fills in says neither yes nor no, so the owner is asked
    "tools-call-elicitation",
    "json-schema-2020-12",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
    "dns-rebinding-protection",
)
# What the server does not say that it can: a client that asks for it gets "no such method"
NOT_CLAIMED: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ),
        "prompts: what is said to a model is its own program's business",
    ),
    "completion-complete": "completions: the suite asks for those of a prompt",
    "tools-call-sampling": "sampling: the agent has a model of its own",
    **dict.fromkeys(
        ("logging-set-level", "tools-call-with-logging"),
        "logging: the log is the owner's",
    ),
    **dict.fromkeys(
        ("resources-subscribe", "resources-unsubscribe"),
        "subscriptions: nothing is kept of a client between two requests",
    ),
    **dict.fromkeys(
        ("elicitation-sep1034-defaults", "elicitation-sep1330-enums"),
        "other forms than that of a yes: no tool asks for anything else",
    ),
    "server-sse-polling": "streams that go on later; the suite itself has it pending",
}

pytestmark = mcp_suite.NEEDED


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


async def run(folder: Path, scenario: str) -> tuple[int, str]:
    """Return how the suite ends with a scenario, and what it says."""
    elicit = 'elicit = ["watch"]'
    async with (
        lent(folder, assistants=("mcp",), answer=Answer.YES, gateway=elicit) as made,
        with_token(made) as url,
    ):
        tools, registry = suite_tools(made.agent.paths.workspace), made.agent.registry
        registry._sources = (*registry._sources, lambda: tools)
        process = await asyncio.create_subprocess_exec(
            *mcp_suite.command("server", "--url", url, "--scenario", scenario),
            *("--spec-version", VERSIONS[0], "--output-dir", str(folder / "results")),
            *("--expected-failures", str(mcp_suite.EXPECTED)),
            *("--timeout", str(1000 * mcp_suite.LIMIT_S)),
            env=mcp_suite.environ(folder),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_the_suite_is_content(
    tmp_path: Path, scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offer, "OF_DEVICE", SUITE_OFFER)
    status, told = await run(tmp_path, scenario)
    assert status == 0, told[-4000:]
    assert " 0 warnings" in told, told[-4000:]


def test_every_scenario_of_the_suite_is_run_or_has_its_reason(tmp_path: Path) -> None:
    assert not set(SCENARIOS) & set(NOT_CLAIMED)
    assert mcp_suite.scenarios("server", VERSIONS[0], tmp_path) == {*SCENARIOS, *NOT_CLAIMED}
