"""Programs as a model asks for them in a real chat: looked at freely, a script after a yes."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.fakes.chat_process import ChatProcess
from tests.fakes.llm_server import Call, running, streamed
from tests.fakes.sandbox import no_bubblewrap
from tests.system.test_web_and_files import results


@pytest.mark.skipif(bool(no_bubblewrap()), reason=no_bubblewrap())
async def test_a_model_looks_with_programs_and_is_held_to_their_grammars(tmp_path: Path) -> None:
    workspace = tmp_path / "state" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "plan.txt").write_text("pump 5 s\nlamp 30 min\n")
    calls = [
        ("shell", {"argv": ["grep", "-c", "pump", "plan.txt"]}),
        ("shell", {"argv": ["find", ".", "-delete"]}),
        ("shell", {"argv": ["sh", "-c", "reboot"]}),
        ("git", {"argv": ["-c", "core.pager=sh", "log"]}),
    ]
    asked = streamed(
        "", *(Call(name, json.dumps(told), f"call_{at}") for at, (name, told) in enumerate(calls))
    )
    async with running(asked, streamed("Done.")) as server:
        config = f'[provider]\nbase_url = "{server.base_url}"\n[embeddings]\nprovider = "none"\n'
        with ChatProcess(tmp_path, config) as chat:
            assert await asyncio.to_thread(chat.say, "have a look") == "Done."
    counted, *refused = results(server)
    assert json.loads(counted)["stdout"] == "1\n"
    assert all("refused" in text or "not an allowed" in text for text in refused)
    assert (workspace / "plan.txt").exists()
