"""Jobs through the running program: ordered by chat, kept over a restart, and heard of in time."""

import json
from pathlib import Path

import msgspec
from msgspec.structs import replace

from agent.schedule.job import HEARTBEAT, State
from agent.schedule.job_store import JobStore
from tests.fakes.chat_process import ChatProcess, order_soon
from tests.fakes.job_run import job
from tests.fakes.llm_thread import LlmThread

SOIL = "# Every look\n- Is the soil dry?\n"


def config(service: LlmThread) -> str:
    return f'[provider]\nbase_url = "{service.server.base_url}"\n'


def test_a_job_that_was_ordered_by_chat_is_heard_of_after_a_restart(tmp_path: Path) -> None:
    with LlmThread() as service:
        with ChatProcess(tmp_path, config(service)) as chat:
            assert "the_message runs at" in order_soon(chat, 12, "say: Tea!")
            assert chat.leave() == (0, "")
        store = JobStore(tmp_path / "state" / "jobs.json")
        assert store.find("the_message").state is State.WAITING
        with ChatProcess(tmp_path, config(service)) as chat:
            assert chat.hear() == "Tea!"
            assert "the_message: at " in chat.say("/jobs")
            assert "the_prompt runs at" in order_soon(chat, 8, "do: what time is it?")
            assert json.loads(chat.hear())["timezone"]
            assert chat.leave() == (0, "")
        assert "Traceback" not in chat.log()
        assert store.find("the_message").result == "delivered"
        assert store.find("the_prompt").state is State.DONE


def test_what_heartbeat_md_says_is_done_and_its_answer_is_heard(tmp_path: Path) -> None:
    workspace = tmp_path / "state" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "HEARTBEAT.md").write_text(SOIL)
    beat = job(HEARTBEAT, channel="terminal", target="local", every_s=1800.0, run_now=True)
    JobStore(tmp_path / "state" / "jobs.json").add(replace(beat, message="", prompt="see the file"))
    with LlmThread() as service:
        with ChatProcess(tmp_path, config(service)) as chat:
            assert chat.hear() == "I only obey a few phrases."
            assert chat.leave() == (0, "")
        (asked,) = service.server.requests
    assert "Is the soil dry?" in msgspec.json.encode(asked.body).decode()
