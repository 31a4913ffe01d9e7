# ruff: noqa: E501  # one sentence a line
from typing import Any

import pytest

from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import CallStep, SayStep, Step
from agent.providers.offline.timers import about_timers
from agent.providers.offline.toolbox import toolbox
from tests.providers.offline.timed_toolset import TIMED

BOX = toolbox(TIMED)


def said(code: str, text: str) -> Step | None:
    return about_timers(analyse(text, code), BOX)


NO_ORDERS = [
    ("ja", "タイマーをキャンセルしないで"),
    ("ja", "タイマーをキャンセルするな"),
    ("ja", "タイマーを一時停止しないで"),
    ("ja", "10分のタイマーをセットしないで"),
    ("ja", "タイマーをキャンセルした"),
    ("ja", "タイマーをキャンセルしたの？"),
    ("ja", "10分のタイマーをセットしました"),
    ("zh", "计时器取消了吗"),
    ("zh", "我取消了计时器"),
    ("zh", "计时器取消了"),
    ("zh", "定了一个十分钟的计时器"),
    ("de", "lass den Timer nicht weiterlaufen"),
    ("en", "the tea timer, cancel?"),
]


@pytest.mark.parametrize(("code", "text"), NO_ORDERS)
def test_what_is_denied_done_or_asked_changes_no_timer(code: str, text: str) -> None:
    assert said(code, text) == SayStep("timer_unclear")


ASKED_FOR = [
    ("zh", "把计时器取消了", "timer_cancel", {}),
    ("zh", "能取消计时器吗", "timer_cancel", {}),
    ("zh", "定一个十分钟的计时器好吗", "timer_start", {"seconds": 600, "language": "zh"}),
    ("ja", "10分のタイマーをセットしてくれない？", "timer_start", {"seconds": 600, "language": "ja"}),
    ("de", "lass den Timer weiterlaufen", "timer_change", {"state": "running"}),
    ("en", "10 minute timer?", "timer_start", {"seconds": 600}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "tool", "wanted"), ASKED_FOR)
def test_a_wish_that_looks_so_is_an_order(
    code: str, text: str, tool: str, wanted: dict[str, Any]
) -> None:
    step = said(code, text)
    assert isinstance(step, CallStep), step
    assert [(order.tool, order.arguments) for order in step.orders] == [(tool, wanted)]


SUMS = [
    ("es", "pon un temporizador de una hora menos cinco minutos"),
    ("es", "pon un temporizador de dos horas menos cuarto"),
    ("es", "pon un temporizador de diez minutos más cinco minutos"),
    ("fr", "mets le minuteur à huit heures moins cinq minutes"),
    ("fr", "minuteur de dix minutes moins une"),
    ("pt", "põe um temporizador de uma hora menos cinco minutos"),
    ("de", "Timer auf eine Stunde weniger fünf Minuten"),
    ("en", "set a timer for an hour less five minutes"),
    ("zh", "定一个十分钟减五分钟的计时器"),
    ("ja", "10分マイナス5分のタイマーをセットして"),
    ("ja", "10分プラス5分のタイマーをセットして"),
    ("ko", "10분 빼기 5분 타이머 맞춰 줘"),
]


@pytest.mark.parametrize(("code", "text"), SUMS)
def test_a_time_less_or_plus_another_changes_no_timer(code: str, text: str) -> None:
    assert said(code, text) == SayStep("timer_unclear")
