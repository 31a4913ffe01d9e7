# ruff: noqa: E501  # one sentence a line
from typing import Any

import pytest

from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import CallStep, SayStep, Step
from agent.providers.offline.timers import about_timers
from agent.providers.offline.toolbox import Toolbox, toolbox
from tests.providers.offline.timed_toolset import TIMED

BOX = toolbox(TIMED)
NO_TIMERS = toolbox(())


def said(code: str, text: str, box: Toolbox = BOX) -> Step | None:
    return about_timers(analyse(text, code), box)


STARTED = [
    ("en", "set a 7 minute timer", {"seconds": 420}),
    ("en", "timer for ninety seconds please", {"seconds": 90}),
    ("en", "start the noodle timer for 3 minutes", {"seconds": 180, "name": "noodle"}),
    ("en", "set a timer called green tea for 4 minutes", {"seconds": 240, "name": "green tea"}),
    ("en", "set a second timer for 9 minutes", {"seconds": 540}),
    ("de", "stell mir einen Nudeltimer auf 8 Minuten", {"seconds": 480, "name": "Nudel"}),
    ("de", "Wecker für eine Dreiviertelstunde", {"seconds": 2700}),
    ("de", "neuer Timer namens Tee für vier Minuten", {"seconds": 240, "name": "Tee"}),
    ("de", "Stell en Teigwaretimer uf nüün Minute", {"seconds": 540, "name": "Teigware"}),
    ("de", "Schteu e Wecker uf e haub Stund", {"seconds": 1800}),
    ("de", "Mach mer en Timer vo fünfezwänzg Minute", {"seconds": 1500}),
    ("de", "Wecker für zwöi Schtund u zäh Minute", {"seconds": 7800}),
    ("de", "nün Minute Timer mit em Name Tee", {"seconds": 540, "name": "Tee"}),
    ("es", "pon un temporizador de siete minutos", {"seconds": 420}),
    ("es", "pon una cuenta atrás de 4 minutos llamada té", {"seconds": 240, "name": "té"}),
    ("zh", "定一个七分钟的计时器", {"seconds": 420}),
    ("zh", "倒計時三分半", {"seconds": 210}),
    ("zh", "设置一个叫绿茶的4分钟计时器", {"seconds": 240, "name": "绿茶"}),
    ("ja", "7分のタイマーをセットして", {"seconds": 420}),
    ("ja", "ラーメンのタイマーを3分で開始して", {"seconds": 180, "name": "ラーメン"}),
    ("ko", "7분 타이머 시작해 줘", {"seconds": 420}),
    ("ko", "라면 타이머를 3분으로 맞춰 줘", {"seconds": 180, "name": "라면"}),
]


@pytest.mark.parametrize(("code", "text", "wanted"), STARTED)
def test_a_timer_is_set(code: str, text: str, wanted: dict[str, Any]) -> None:
    step = said(code, text)
    assert isinstance(step, CallStep), step
    (order,) = step.orders
    language = {} if code == "en" else {"language": code}
    assert (order.tool, order.arguments) == ("timer_start", {**wanted, **language})


DASHED = [
    ("en", "set a timer for - 5 minutes", {"seconds": 300}),
    ("en", "timer - 5 minutes", {"seconds": 300}),
    ("en", "timer – 5 minutes", {"seconds": 300}),
    ("en", "timer —5 minutes", {"seconds": 300}),
    ("en", "tea timer - 5 minutes", {"seconds": 300, "name": "tea"}),
    ("en", "timer - tea - 5 minutes", {"seconds": 300, "name": "tea"}),
    ("en", "timer for 5 minutes - tea", {"seconds": 300, "name": "tea"}),
    ("de", "Timer - fünf Minuten", {"seconds": 300}),
    ("es", "temporizador - 5 minutos", {"seconds": 300}),
    ("zh", "定时器——5分钟", {"seconds": 300}),
    ("ja", "タイマー - 5分", {"seconds": 300}),
    ("ko", "타이머 - 5분", {"seconds": 300}),
]


@pytest.mark.parametrize(("code", "text", "wanted"), DASHED)
def test_a_dash_that_parts_is_no_name(code: str, text: str, wanted: dict[str, Any]) -> None:
    test_a_timer_is_set(code, text, wanted)


BELOW_ZERO = [
    ("en", "set a timer for -5 minutes"),
    ("en", "timer −5 minutes"),
    ("en", "timer − 5 minutes"),
    ("en", "timer: –5 minutes"),
    ("en", "set a -5 minute tea timer"),
    ("en", "set a timer for minus five minutes"),
    ("en", "set a timer for negative 5 minutes"),
    ("en", "add -5 minutes to the timer"),
    ("de", "Timer auf minus fünf Minuten"),
    ("zh", "设一个负五分钟的定时器"),
    ("ko", "마이너스 5분 타이머"),
]


@pytest.mark.parametrize(("code", "text"), BELOW_ZERO)
def test_no_timer_runs_for_less_than_nothing(code: str, text: str) -> None:
    assert said(code, text) == SayStep("timer_unclear")


AIMED = [
    ("en", "shorten the timer to five minutes"),
    ("en", "extend the timer to ten minutes"),
    ("de", "verkürze den Timer auf fünf Minuten"),
    ("nl", "verkort de timer naar vijf minuten"),
    ("fr", "réduis le minuteur à cinq minutes"),
    ("es", "reduce el temporizador a cinco minutos"),
    ("it", "riduci il timer a cinque minuti"),
    ("pt", "reduz o temporizador para cinco minutos"),
    ("zh", "把计时器延长到十分钟"),
    ("ja", "タイマーを5分に短縮して"),
    ("ko", "타이머를 5분으로 줄여 줘"),
]


@pytest.mark.parametrize(("code", "text"), AIMED)
def test_the_time_that_a_timer_is_to_end_at_is_no_step(code: str, text: str) -> None:
    assert said(code, text) == SayStep("timer_unclear")


STEPS = [
    ("en", "shorten the timer by five minutes", -300),
    ("en", "add 5 minutes to the timer", 300),
    ("de", "fünf Minuten auf den Timer drauf", 300),
    ("es", "reduce el temporizador en cinco minutos", -300),
    ("pt", "reduz o temporizador em cinco minutos", -300),
    ("zh", "把计时器延长十分钟", 600),
    ("ja", "タイマーに5分追加して", 300),
    ("ko", "타이머에 5분 추가해 줘", 300),
    ("fr", "moins cinq minutes", -300),
    ("de", "nimm fünf Minuten vom Timer weg", -300),
]


@pytest.mark.parametrize(("code", "text", "seconds"), STEPS)
def test_a_timer_is_changed_by_so_much(code: str, text: str, seconds: int) -> None:
    step = said(code, text)
    assert isinstance(step, CallStep), step
    assert [order.arguments for order in step.orders] == [{"add_seconds": seconds}]


def test_a_shorter_time_alone_is_no_step_where_it_says_the_end() -> None:
    assert said("ko", "5분으로 줄여") is None


def test_a_range_is_no_time() -> None:
    assert said("en", "timer 5 - 10 minutes") == SayStep("timer_unclear")


@pytest.mark.parametrize("mark", ["/", "*", "+", "=", "~", "〜"])
def test_a_mark_is_no_name(mark: str) -> None:
    assert said("en", f"timer {mark} 5 minutes") == SayStep("timer_unclear")


ORDERED = [
    ("en", "pause the timer -", "timer_change", {"state": "paused"}),
    ("en", "add 2 minutes to the noodle timer", "timer_change", {"name": "noodle", "add_seconds": 120}),
    ("en", "give me 3 more minutes on the timer", "timer_change", {"add_seconds": 180}),
    ("en", "take 30 seconds off my 4 minute timer", "timer_change", {"set_for_seconds": 240, "add_seconds": -30}),
    ("en", "hold the egg timer", "timer_change", {"name": "egg", "state": "paused"}),
    ("en", "carry on with the egg timer", "timer_change", {"name": "egg", "state": "running"}),
    ("en", "how much longer does the egg timer run", "timer_list", {"name": "egg"}),
    ("en", "turn off the second timer", "timer_cancel", {"number": 2}),
    ("en", "get rid of all my timers", "timer_cancel", {"all": True}),
    ("en", "cancel timer 2", "timer_cancel", {"number": 2}),
    ("en", "2 minutes more", "timer_change", {"add_seconds": 120}),
    ("de", "verlängere den Nudeltimer um zwei Minuten", "timer_change", {"name": "Nudel", "add_seconds": 120}),
    ("de", "zieh 30 Sekunden vom Tee Timer ab", "timer_change", {"name": "Tee", "add_seconds": -30}),
    ("de", "halte den Tee-Timer an", "timer_change", {"name": "Tee", "state": "paused"}),
    ("de", "setze den Timer fort", "timer_change", {"state": "running"}),
    ("de", "wie viele Minuten hat der zweite Timer noch", "timer_list", {"number": 2}),
    ("de", "mach den Timer aus", "timer_cancel", {}),
    ("de", "Tue füf Minute zu mim Teig-Wecker derzue", "timer_change", {"name": "Teig", "add_seconds": 300}),
    ("de", "Gib em Teig-Timer no zwöi Minute", "timer_change", {"name": "Teig", "add_seconds": 120}),
    ("de", "Nimm drü Minute vom Timer wäg", "timer_change", {"add_seconds": -180}),
    ("de", "Verchürzi de Teig-Timer um drissg Sekunde", "timer_change", {"name": "Teig", "add_seconds": -30}),
    ("de", "Fahr mit em Teig-Timer witer", "timer_change", {"name": "Teig", "state": "running"}),
    ("de", "Lah de Wecker witer laufe", "timer_change", {"state": "running"}),
    ("de", "Halt dr Timer aa", "timer_change", {"state": "paused"}),
    ("de", "Wie lang gaht de Teig-Wecker no", "timer_list", {"name": "Teig"}),
    ("de", "Wievil Zyt het dr zwöit Timer no", "timer_list", {"number": 2}),
    ("de", "Brich dr Teig-Timer ab", "timer_cancel", {"name": "Teig"}),
    ("de", "Lösch aui Timer", "timer_cancel", {"all": True}),
    ("es", "añade dos minutos al temporizador de sopa", "timer_change", {"name": "sopa", "add_seconds": 120}),
    ("es", "pausa el temporizador del arroz", "timer_change", {"name": "arroz", "state": "paused"}),
    ("es", "cancela todos mis temporizadores", "timer_cancel", {"all": True}),
    ("es", "para el temporizador", "timer_change", {"state": "paused"}),
    ("zh", "绿茶计时器延长两分钟", "timer_change", {"name": "绿茶", "add_seconds": 120}),
    ("zh", "暂停绿茶计时器", "timer_change", {"name": "绿茶", "state": "paused"}),
    ("zh", "停止所有闹钟", "timer_cancel", {"all": True}),
    ("zh", "我的計時器還有多久", "timer_list", {}),
    ("ja", "タイマーを2分延長して", "timer_change", {"add_seconds": 120}),
    ("ja", "ラーメンのタイマーはあと何分？", "timer_list", {"name": "ラーメン"}),
    ("ja", "すべてのタイマーを取り消して", "timer_cancel", {"all": True}),
    ("ja", "タイマーを再開して", "timer_change", {"state": "running"}),
    ("ko", "라면 타이머에 2분 추가해 줘", "timer_change", {"name": "라면", "add_seconds": 120}),
    ("ko", "타이머 일시정지해", "timer_change", {"state": "paused"}),
    ("ko", "타이머 전부 취소해 줘", "timer_cancel", {"all": True}),
    ("ko", "라면 타이머 얼마나 남았어?", "timer_list", {"name": "라면"}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "text", "tool", "wanted"), ORDERED)
def test_a_timer_is_changed_shown_or_cancelled(
    code: str, text: str, tool: str, wanted: dict[str, Any]
) -> None:
    step = said(code, text)
    assert isinstance(step, CallStep), step
    (order,) = step.orders
    assert (order.tool, order.arguments) == (tool, wanted)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "timer"),
        ("en", "set a timer"),
        ("en", "don't cancel the timer"),
        ("en", "should I cancel the egg timer"),
        ("en", "cancel the timer and turn on the pump"),
        ("en", "cancel the timer. Turn off the pump"),
        ("en", "turn on the timer"),
        ("en", "paint the timer blue"),
        ("en", "set a timer for 5 minutes and 10 minutes for eggs and tea"),
        ("en", "pause all timers"),
        ("en", "add time to the timer"),
        ("en", "cancel the very long named thing of mine timer"),
        ("de", "schalte den Timer ein"),
        ("de", "lösch den Timer nicht"),
        ("de", "Lösch de Timer nid"),
        ("de", "Stopp dr Teig-Timer nöd"),
        ("de", "Söll i de Timer lösche"),
        ("zh", "不要取消计时器"),
        ("ja", "タイマーを取り消さないで"),
    ],
)
def test_what_is_not_accounted_for_changes_no_timer(code: str, text: str) -> None:
    step = said(code, text)
    assert isinstance(step, SayStep), step
    assert step.key == "timer_unclear"


@pytest.mark.parametrize(
    "text", ["turn on the pump", "how much disk space is left", "what time is it", "5 minutes", ""]
)
def test_what_is_about_something_else_is_left_to_others(text: str) -> None:
    assert said("en", text) is None


def test_where_there_are_no_timers_none_is_read() -> None:
    assert said("en", "set a timer for 5 minutes", NO_TIMERS) is None


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "timer 5 to 10 minutes"),
        ("en", "timer 5-10 minutes"),
        ("en", "set timer 2 for 5 minutes"),
        ("nl", "timer 2 op 5 minuten"),
        ("zh", "计时5到10分钟"),
        ("zh", "定时五六分钟"),
        ("ja", "タイマー5から10分"),
        ("ko", "타이머 5에서 10분"),
    ],
)
def test_no_timer_is_set_by_half_of_a_range(code: str, text: str) -> None:
    assert said(code, text) == SayStep("timer_unclear")
