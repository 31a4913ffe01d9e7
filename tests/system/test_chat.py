"""The whole way on real parts: agent, link, firmware in MicroPython, memory on disk."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes.board_sim import BoardSim, unavailable_reason
from tests.fakes.chat_process import ChatProcess
from tests.fakes.llm_thread import LlmThread
from tests.waits import stays_sync

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=str(unavailable_reason()))

# A replugged board works again within this
REPLUG_LIMIT_S = 3.0
LEASE_MS = 2000
LEASE_MARGIN_MS = 50


@contextmanager
def device(folder: Path, config: str = "") -> Iterator[tuple[BoardSim, ChatProcess]]:
    (folder / "board").mkdir(exist_ok=True)
    with BoardSim(folder / "board", {"values": {"temperature": {"value": 24.5}}}) as board:
        yield board, ChatProcess(folder, f'[board]\nport = "{board.port}"\n{config}')


def values_of(board: BoardSim, name: str) -> list[int]:
    return [value for value, _ in board.changes(name)]


@pytest.mark.parametrize(
    ("lines", "temperature", "question", "answer"),
    [
        (
            [
                "turn the led on",
                "what is the temperature?",
                "remember that my sister is called Mei",
            ],
            "24.5 °C",
            "what is my sister called?",
            "Mei",
        ),
        (["打开led灯", "现在温度是多少?", "记住我妹妹叫小美"], "24.5 °C", "我妹妹叫什么?", "小美"),
    ],
)
def test_offline_the_device_acts_reads_and_remembers_over_a_restart(
    tmp_path: Path, lines: list[str], temperature: str, question: str, answer: str
) -> None:
    with device(tmp_path) as (board, chat):
        with chat:
            answers = [chat.say(line) for line in lines]
            assert 1 in values_of(board, "led"), answers
            assert temperature in answers[1]
            status, errors = chat.leave()
        assert (status, errors) == (0, "")
        assert values_of(board, "led")[-1] == 0
        with chat:
            assert answer in chat.say(question)


def test_offline_a_file_that_was_read_does_not_hold_back_the_persons_orders(
    tmp_path: Path,
) -> None:
    with device(tmp_path) as (board, chat), chat:
        chat.say("write buy milk to list.txt")
        assert "buy milk" in chat.say("read list.txt")
        chat.say("turn the led on")
        assert 1 in values_of(board, "led")


def test_a_service_with_streaming_and_tools_does_the_same(tmp_path: Path) -> None:
    with LlmThread() as service:
        config = f'[provider]\nbase_url = "{service.server.base_url}"\n'
        with device(tmp_path, config) as (board, chat), chat:
            assert "on" in chat.say("turn the led on")
            assert 1 in values_of(board, "led")
            assert "24.5" in chat.say("what is the temperature?")
            chat.say("remember that my sister is called Mei")
            assert "Mei" in chat.say("what is my sister called?")
        bodies = [request.body for request in service.server.requests]
        assert all(body["stream"] and body["tools"] for body in bodies)


def test_without_its_board_the_chat_goes_on_and_finds_it_again(tmp_path: Path) -> None:
    with device(tmp_path) as (board, chat), chat:
        chat.say("turn the led on")
        board.kill()
        assert "not connected" in chat.say("turn the led on")
        assert "Barnacle" in chat.say("/status")
        board.start()
        begun_s = time.monotonic()
        while "not connected" in chat.say("turn the led on"):
            assert time.monotonic() - begun_s < REPLUG_LIMIT_S
        assert 1 in values_of(board, "led")
        assert chat.leave()[0] == 0


def test_outputs_are_safe_when_the_agent_is_killed(tmp_path: Path) -> None:
    with device(tmp_path) as (board, chat):
        with chat:
            chat.say("turn the led on")
            # Longer than the lease: it is being renewed
            stays_sync(lambda: values_of(board, "led")[-1] == 1, 1.5 * LEASE_MS / 1000)
            killed_ms = time.monotonic() * 1000
            chat.kill()
            board.stop()
        value, at_ms = board.changes("led")[-1]
        assert value == 0
        assert at_ms - killed_ms <= LEASE_MS + LEASE_MARGIN_MS


def test_a_killed_chat_leaves_its_memories_and_the_next_one_starts(tmp_path: Path) -> None:
    with device(tmp_path) as (_, chat):
        with chat:
            chat.say("remember that my sister is called Mei")
            chat.kill()
        with chat:
            assert "Mei" in chat.say("what is my sister called?")


def test_nonsense_is_answered_without_a_traceback(tmp_path: Path) -> None:
    nonsense = [
        "\x00\x01\x1b[2J",
        "ﷺ" * 500,
        "{}[]();--' OR 1=1",
        "../../etc/passwd",
        "/" * 50,
        "/nothing",
        "\u202e\u200d\ufeff",
        "0" * 5000,
        '"unbalanced NEAR( * ^ "',
        "turn on the turn off the",
        "\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
    ]
    with device(tmp_path) as (board, chat), chat:
        board.port.write_bytes(b"\x00\xff rubbish in the pty \x00" * 20)
        for line in nonsense:
            assert "Traceback" not in chat.say(line), line
        status, errors = chat.leave()
        assert (status, errors) == (0, "")
        assert "Traceback" not in chat.log()
        assert values_of(board, "pump")[-1] == 0


def test_a_wrong_configuration_is_refused_in_a_sentence(tmp_path: Path) -> None:
    chat = ChatProcess(tmp_path, "[board]\nbdua = 9600\n")
    with chat:
        status, errors = chat.leave()
    assert status == 2
    assert "did you mean `baud`" in errors
    assert "Traceback" not in errors


def test_a_second_chat_is_told_who_has_the_state(tmp_path: Path) -> None:
    chat, other = ChatProcess(tmp_path, ""), ChatProcess(tmp_path, "")
    with chat:
        chat.say("/help")
        with other:
            status, errors = other.leave()
    assert status == 1
    assert "another barnacle" in errors
