"""Trials of an image that is broken: each is told of a fault, and has to say so."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.messaging.conversation import NOT_KEPT_TEXT
from image.lib import first_boot
from image.lib.emulated.bench import Bench
from image.lib.trials import (
    conversation,
    frozen_agent,
    full_disk,
    own_pins,
    power_cut,
    read_only,
    unplugged,
    wrong_clock,
)
from image.lib.trials.expectation import Missed

_LED_ON = [(1, 0)]


class BenchOfAFault:
    """A bench on which everything is as wanted, but for what a test says.

    Args:
        told: the answers of the shell, by a part of the command.
        shown: the agent's messages.
    """

    def __init__(self, told: Mapping[str, str], shown: list[str] | None = None) -> None:
        self.seed = 1
        self.restarts = 0
        self._told, self._shown = told, shown or []
        self.outside = SimpleNamespace(
            ask=lambda *_, **__: 1.0,
            press=lambda _: None,
            questions=lambda: 0,
            server=SimpleNamespace(token="1234:token"),
            shown=self._messages,
            until=lambda *_: None,
            wait_for=lambda *_: "",
            wait_for_question=lambda _: None,
            write=lambda _: 1,
        )
        self.shell = SimpleNamespace(run=self._run, send=lambda _: None)
        self.board = SimpleNamespace(value=lambda _: 1, changes=lambda _: _LED_ON)
        self.bus = SimpleNamespace(registers=own_pins.REGISTERS[own_pins._LIMIT].to_bytes(2))
        self.evidence = SimpleNamespace(is_noting=False)
        self.cable = SimpleNamespace(unplug=lambda: None)

    def _messages(self) -> list[str]:
        return self._shown

    def _run(self, command: str, _most_s: float = 0) -> str:
        return next((said for part, said in self._told.items() if part in command), "")

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in {"with_board", "chatting"}:
            return lambda: self.outside
        return lambda *_: 0.0


def bench(told: Mapping[str, str], shown: list[str] | None = None) -> Bench:
    return cast("Bench", BenchOfAFault(told, shown))


@pytest.fixture(autouse=True)
def safe_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (frozen_agent, unplugged):
        monkeypatch.setattr(module, "safe_after_ms", lambda *_: 10.0)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("the agent", "inactive"),
        ("SSH for the key", "inactive\nsuccess"),
        ("the unit", "inactive\nsuccess"),
        ("failed units", "10"),
        ("no secret in them", "10"),
        ("the name", "old-greenhouse"),
    ],
)
def test_a_look_takes_no_part_of_a_word_for_the_word(what: str, said: str) -> None:
    assert first_boot.LOOKS[what](lambda _command: said)[1] is False


def test_an_agent_that_somebody_else_restarted_was_not_restarted_by_its_watchdog() -> None:
    told = {"MainPID": "7", "grep": "watchdog: sign of life withheld"}
    with pytest.raises(Missed, match="it was not the watchdog"):
        frozen_agent.run(bench(told), 0)


@pytest.mark.parametrize(
    ("left", "times", "complaint"),
    [("200000", "1", "is not full: 200000 KiB"), ("0", "0", "neither the chat nor the journal")],
)
def test_a_disk_that_is_not_full_or_not_told_of_is_seen(
    left: str, times: str, complaint: str
) -> None:
    told = {"df -k --output=avail /data | tail -1": left, "is-active": "active", "grep": times}
    with pytest.raises(Missed, match=complaint):
        full_disk.run(bench(told), 0)


def test_a_secret_in_the_chat_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = iter((0, 1))
    monkeypatch.setattr(conversation, "_level", lambda *_: next(levels))
    with pytest.raises(Missed, match="a secret was said"):
        conversation.run(bench({}, [f"your key is {first_boot.KEY}"]), 0)


def test_a_data_partition_that_was_left_alone_after_the_cuts_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(power_cut, "_cut", lambda *_: None)
    monkeypatch.setattr(power_cut, "_until_all_answered", lambda *_: 1.0)
    stopped = BenchOfAFault({"barnacle-aside": "it cannot be mounted", "no-data": "kept"})
    # It starts nothing
    stopped.guest = SimpleNamespace(wait_for_shell=lambda _: None)  # type: ignore[attr-defined]
    with pytest.raises(Missed, match="left alone: it cannot be mounted"):
        power_cut.run(cast("Bench", stopped), 0)


def test_an_agent_that_does_not_say_why_it_acts_on_nothing_is_seen() -> None:
    with pytest.raises(Missed, match="does not say why"):
        read_only.run(bench({}, []), 0)
    assert "read-only" in NOT_KEPT_TEXT


def test_a_board_without_its_stable_name_is_seen() -> None:
    told = {"readlink": "crw-rw---- 1 root dialout 166, 0 Nov 30 12:00 /dev/ttyACM0"}
    with pytest.raises(Missed, match="not the stable name"):
        unplugged.run(bench(told), 0)


def test_a_job_that_runs_twice_is_seen() -> None:
    messages: list[str] = []

    class Twice(BenchOfAFault):
        def _messages(self) -> list[str]:
            return [*messages]

    twice = Twice({"NTPSynchronized": "no", "doctor": "no scheduled job runs"})
    # Half an hour after it was due
    asked_for_s = iter(["1000", "900", "9999"])
    twice.shell.run = lambda command, *_: (
        next(asked_for_s) if "+%s" in command else twice._run(command)
    )
    twice.outside.wait_for = lambda *_: messages.extend([wrong_clock._TOLD] * 2)
    with pytest.raises(Missed, match="it ran 2 times"):
        wrong_clock.run(cast("Bench", twice), 0)
