"""Tools on files and the web, as a model asks for them in a real chat."""

import asyncio
import json
from pathlib import Path

from tests.fakes.chat_process import ChatProcess
from tests.fakes.llm_server import Call, LlmServer, running, streamed

METADATA = "http://169.254.169.254/latest/meta-data/"


def results(server: LlmServer) -> list[str]:
    """What the tools told the model, as its last request has it."""
    messages = server.requests[-1].body["messages"]
    assert isinstance(messages, list)
    return [message["content"] for message in messages if message["role"] == "tool"]


async def test_a_model_edits_and_finds_but_reaches_nothing_at_home(tmp_path: Path) -> None:
    workspace = tmp_path / "state" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "plan.txt").write_text("pump 5 s\n")
    calls = [
        ("file_edit", {"path": "plan.txt", "old": "5 s", "new": "6 s"}),
        ("content_search", {"query": r"\d s$", "regex": True}),
        ("glob_search", {"pattern": "**/*.txt"}),
        ("web_fetch", {"url": METADATA}),
        ("http_request", {"url": "http://localhost:8080/", "method": "POST", "body": "x"}),
    ]
    asked = streamed("", *(Call(name, json.dumps(told), f"call_{name}") for name, told in calls))
    async with running(asked, streamed("Done.")) as server:
        config = f'[provider]\nbase_url = "{server.base_url}"\n[embeddings]\nprovider = "none"\n'
        with ChatProcess(tmp_path, config) as chat:
            assert await asyncio.to_thread(chat.say, "have a look") == "Done."
    edited, found, listed, fetched, sent = results(server)
    assert json.loads(edited) == {"path": "plan.txt", "line": 1, "bytes": 9}
    assert json.loads(found)["found"] == [{"path": "plan.txt", "line": 1, "text": "pump 6 s"}]
    assert json.loads(listed)["paths"] == ["plan.txt"]
    assert "address of this machine or network" in fetched
    assert "name of this machine or network" in sent
    assert (workspace / "plan.txt").read_text() == "pump 6 s\n"
