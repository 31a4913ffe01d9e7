"""Terminals attached to a running agent: real processes, real sockets, and an agent that dies."""

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.channels.attached.client import BACK_TEXT, GONE_TEXT
from agent.schedule.job_store import JobStore
from tests.fakes.chat_process import ChatProcess, chat_environ, order_soon
from tests.fakes.daemon_process import DaemonProcess
from tests.fakes.llm_server import Call, Json, Reply, sse, streamed
from tests.fakes.llm_thread import LlmThread
from tests.fakes.terminal_chat import TerminalChat
from tests.waits import PATIENCE_S, wait_until_sync

ASKING = '[agent.rules.clock]\ntool = "time_now"\nverdict = "ask"\n'


def config_for(service: LlmThread) -> str:
    return f'[provider]\nbase_url = "{service.server.base_url}"\n'


def half(text: str) -> Reply:
    """The beginning of an answer that never goes on."""
    begun: Json = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return Reply(sse(begun, done=False), stalls=True)


def without_times(screen: str) -> str:
    return re.sub(r"\d\d:\d\d:\d\d|just started|up for \d+ s", "", screen)


def answers_sent(folder: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(folder / "state" / "agent.db")) as journal:
        return list(journal.execute("SELECT text, state FROM outbox ORDER BY id"))


def waiting(folder: Path) -> list[str]:
    return [text for text, state in answers_sent(folder) if state == "pending"]


def test_lines_of_a_pipe_are_answered_by_the_agent_that_runs(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path) as daemon:
        with ChatProcess(tmp_path, "") as chat:
            chat.say("remember that my sister is called Mei")
            assert chat.leave() == (0, "")
        with ChatProcess(tmp_path, "") as chat, ChatProcess(tmp_path, "") as other:
            assert "Mei" in chat.say("what is my sister called?")
            assert "Mei" in other.say("what is my sister called?")
        assert not (tmp_path / "state" / "chat.log").exists()
        assert daemon.stop() == 0
        assert not daemon.socket.exists()


def test_in_a_terminal_it_looks_as_without_a_running_agent(tmp_path: Path) -> None:
    with TerminalChat(tmp_path, "") as chat:
        chat.say("/help")
        assert chat.leave() == 0
    alone = chat.screen
    with DaemonProcess(tmp_path), TerminalChat(tmp_path, "") as chat:
        chat.say("/help")
        assert chat.leave() == 0
    assert without_times(chat.screen) == without_times(alone)


def test_answers_grow_and_questions_wait_for_the_persons_word(tmp_path: Path) -> None:
    asked = streamed("", Call("time_now"))
    with LlmThread(asked, streamed("It is late.")) as service:
        config = config_for(service) + ASKING
        with DaemonProcess(tmp_path, config), TerminalChat(tmp_path, config) as chat:
            chat.type("what time is it?")
            chat.sees("[a]lways: ")
            chat.type("y")
            assert "It is late." in chat.sees("\n> ")
    assert '"time"' in str(service.server.requests[-1].body["messages"][-1])


def test_a_question_whose_terminal_dies_is_put_to_the_next_one(tmp_path: Path) -> None:
    with LlmThread(streamed("", Call("time_now")), streamed("It is late.")) as service:
        config = config_for(service) + ASKING
        with DaemonProcess(tmp_path, config):
            with TerminalChat(tmp_path, config) as chat:
                chat.type("what time is it?")
                chat.sees("[a]lways: ")
            with TerminalChat(tmp_path, config) as chat:
                wait_until_sync(lambda: chat.has_shown("[a]lways: "))
                chat.type("n")
                chat.sees("It is late.")
    assert "the owner said no" in str(service.server.requests[-1].body["messages"][-1])


def test_an_agent_that_dies_in_a_turn_answers_once_when_it_is_back(tmp_path: Path) -> None:
    with LlmThread(half("Well, "), streamed("It is done.")) as service:
        config = config_for(service)
        with DaemonProcess(tmp_path, config) as daemon, TerminalChat(tmp_path, config) as chat:
            chat.type("do it")
            chat.sees("Well,")
            daemon.kill()
            chat.sees(GONE_TEXT)
            daemon.start()
            chat.sees(BACK_TEXT)
            chat.sees("It is done.")
            chat.sees("\n> ")
            assert "/status" not in chat.say("/status")
            chat.leave()
            assert chat.screen.count("It is done.") == 1
        with DaemonProcess(tmp_path, config), TerminalChat(tmp_path, config) as chat:
            chat.say("/status")
    assert "It is done." not in chat.screen
    assert ("It is done.", "sent") in answers_sent(tmp_path)
    assert len(service.server.requests) == 2


def test_what_is_typed_while_the_agent_is_away_is_said_when_it_is_back(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path) as daemon, TerminalChat(tmp_path, "") as chat:
        daemon.kill()
        chat.sees(GONE_TEXT)
        chat.type("remember that my sister is called Mei")
        daemon.start()
        chat.sees(BACK_TEXT)
        # What was typed is on the screen already: the answer is what is kept of it
        wait_until_sync(lambda: [state for _, state in answers_sent(tmp_path)] == ["sent"])
        assert "Mei" in chat.say("what is my sister called?")
    assert len(answers_sent(tmp_path)) == 2


def test_the_answer_to_somebody_who_is_gone_waits_for_them(tmp_path: Path) -> None:
    slow = replace(streamed("It is done at last."), piece_bytes=40, pause_s=0.1)
    with LlmThread(slow) as service:
        config = config_for(service)
        with DaemonProcess(tmp_path, config):
            with TerminalChat(tmp_path, config) as chat:
                chat.type("do it")
                chat.sees("It ")
            wait_until_sync(lambda: answers_sent(tmp_path) == [("It is done at last.", "pending")])
            with TerminalChat(tmp_path, config) as chat:
                wait_until_sync(lambda: chat.has_shown("It is done at last."))
                wait_until_sync(lambda: answers_sent(tmp_path) == [("It is done at last.", "sent")])


def test_ctrl_c_breaks_off_the_turn_and_a_second_one_leaves(tmp_path: Path) -> None:
    with LlmThread(half("Well, ")) as service:
        config = config_for(service)
        with DaemonProcess(tmp_path, config), TerminalChat(tmp_path, config) as chat:
            chat.type("do it")
            chat.sees("Well,")
            chat.interrupt()
            chat.sees("Stopped.")
            chat.sees("\n> ")
            chat.interrupt()
            assert chat.ended() == 0


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_socket_that_is_left_over_holds_up_nobody(tmp_path: Path, end: str) -> None:
    with DaemonProcess(tmp_path) as daemon:
        getattr(daemon, end)()
        with ChatProcess(tmp_path, "") as chat:
            assert "Barnacle" in chat.say("/status")
            assert chat.leave()[0] == 0
        daemon.start()
        with ChatProcess(tmp_path, "") as chat:
            assert "Barnacle" in chat.say("/status")


def test_what_a_job_has_to_say_while_nobody_is_there_comes_at_the_next_chat(
    tmp_path: Path,
) -> None:
    store = JobStore(tmp_path / "state" / "jobs.json")
    with LlmThread() as service:
        config = config_for(service)
        with DaemonProcess(tmp_path, config):
            with ChatProcess(tmp_path, config) as chat:
                order_soon(chat, 8, "say: Tea!")
                order_soon(chat, 8, "do: what time is it?")
                assert chat.leave() == (0, "")
            wait_until_sync(lambda: len(waiting(tmp_path)) == 2)
            wait_until_sync(
                lambda: store.find("the_prompt").result == "kept until terminal is connected"
            )
            with ChatProcess(tmp_path, config) as chat:
                heard = [chat.hear(), chat.hear()]
                assert chat.leave() == (0, "")
            wait_until_sync(lambda: waiting(tmp_path) == [])
    assert "Tea!" in heard
    assert any("timezone" in line for line in heard)


def test_doctor_says_whether_an_agent_runs(tmp_path: Path) -> None:
    def examined() -> str:
        done = subprocess.run(
            [sys.executable, "-m", "agent.cli.main", "doctor", "--json"],
            env=chat_environ(tmp_path, ""),
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        return str(json.loads(done.stdout)["chat"])

    assert "no agent is running" in examined()
    with DaemonProcess(tmp_path):
        assert "attaches to it" in examined()
