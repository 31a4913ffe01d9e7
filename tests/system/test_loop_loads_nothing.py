"""What a first message needs is loaded in threads: a loop that stands still renews no lease.

On a Pi Zero the vocabularies alone take ten seconds, and a board waits for half a second.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent.channels.attached import frames
from tests.fakes import llm_server
from tests.fakes.attached_terminal import AttachedTerminal
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.llm_server import Call, LlmServer, streamed

# Each takes some milliseconds
SMALL = {
    "agent.app.phrase_learner",
    "agent.approvals.reach",
    "agent.memory.transfer",
    "agent.messaging.first_turn",
    "agent.messaging.user_questions",
    "agent.storage.phrases",
    "agent.text.plain_words",
    "agent.tools.inquiry",
    "agent.turn.answer_files",
}


class WatchedDaemon(DaemonProcess):
    program = ("-m", "tests.fakes.watched_imports")


@asynccontextmanager
async def model() -> AsyncIterator[LlmServer]:
    """One that calls a tool first."""
    async with llm_server.running(streamed("", Call("time_now")), streamed("Done.")) as server:
        yield server


async def loaded(folder: Path, provider: str, *said: str) -> set[str]:
    """What the loop loads while these messages are answered."""
    watched = folder / "imports"
    config = f'[provider]\n{provider}\n[embeddings]\nprovider = "none"\n'
    with WatchedDaemon(folder, config, WATCHED_IMPORTS=str(watched)) as daemon:
        terminal = AttachedTerminal(daemon.socket)
        await terminal.attach()
        watched.write_bytes(b"")
        for number, text in enumerate(said):
            await terminal.say(frames.SayFrame(f"m{number}", text))
            while not isinstance(heard := await terminal.hear(), frames.MessageFrame):
                assert heard is not None, daemon.log()
            await terminal.say(frames.ShownFrame(heard.number))
        await terminal.leave()
        daemon.stop()
    return {name for name in watched.read_text().split() if name.startswith("agent.")}


async def test_with_a_model_and_a_tool(tmp_path: Path) -> None:
    async with model() as server:
        provider = f'base_url = "{server.base_url}"\nmodel = "fake"'
        found = await loaded(tmp_path, provider, "What time is it?", "And now?")
    assert found <= SMALL, found - SMALL


@pytest.mark.parametrize("text", ["hello", "what time is it?", "wie spät ist es?"])
async def test_without_a_model(tmp_path: Path, text: str) -> None:
    found = await loaded(tmp_path, 'kind = "offline"', text, text)
    offline = {name for name in found if name.startswith("agent.providers.offline")}
    assert not offline, offline
