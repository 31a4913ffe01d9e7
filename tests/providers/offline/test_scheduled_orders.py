"""What is scheduled already: read in every language, looked up, and changed one by one."""

import json
from collections.abc import Mapping
from typing import Any, cast

import pytest

from agent.providers.offline.clauses import clauses_of
from agent.providers.offline.conversation import Exchange
from agent.providers.offline.pieces import analyse
from agent.providers.offline.plan import SCHEDULED, AskStep, CallStep, Order, SayStep, Step
from agent.providers.offline.replies import replied
from agent.providers.offline.scheduled_orders import about_scheduled, change_scheduled
from agent.providers.offline.toolbox import toolbox
from agent.tools.cron import Jobs, cron_tools
from tests.providers.offline.timed_toolset import TIMED

BOX = toolbox((*TIMED, *(tool.spec() for tool in cron_tools(cast("Jobs", None)))))
REMINDERS = [{"number": 1, "text": "water the plants"}, {"number": 2, "text": "call Mei"}]
JOBS = [
    {"name": "order-1", "prompt": "turn the led on"},
    {"name": "order-10", "prompt": "read the light"},
    {"name": "reminder-1", "message": "Reminder: feed the cat"},
]


def read(code: str, text: str) -> CallStep | None:
    return about_scheduled(analyse(text, code), BOX)


def looked_up(step: CallStep, *, empty: bool = False) -> list[Exchange]:
    results: Mapping[str, Any] = {
        "timer_list": {"reminders": [] if empty else REMINDERS},
        "cron_list": {"jobs": [] if empty else JOBS},
    }
    return [Exchange(order, json.dumps(results[order.tool])) for order in step.orders]


def changed(text: str, code: str = "en", *, empty: bool = False) -> Step:
    step = read(code, text)
    assert step is not None, text
    assert step.purpose == SCHEDULED
    return change_scheduled(analyse(text, code), looked_up(step, empty=empty), BOX)


LISTED = [
    ("en", "list my reminders"),
    ("en", "what reminders do I have?"),
    ("de", "zeige meine Erinnerungen"),
    ("de", "welche Erinnerungen gibt es?"),
    ("es", "muéstrame mis recordatorios"),
    ("fr", "montre mes rappels"),
    ("it", "mostra i promemoria"),
    ("nl", "toon mijn herinneringen"),
    ("pt", "mostra os meus lembretes"),
    ("zh", "我有哪些提醒"),
    ("ja", "リマインダーを見せて"),
    ("ko", "알림 보여 줘"),
]


@pytest.mark.parametrize(("code", "text"), LISTED)
def test_reminders_are_listed(code: str, text: str) -> None:
    step = read(code, text)
    assert step is not None
    assert step.orders == (Order("timer_list", {"reminder": True}), Order("cron_list", {}))
    assert not step.purpose


JOBS_LISTED = [
    ("en", "list my jobs"),
    ("de", "zeige meine Aufträge"),
    ("es", "muestra mis tareas"),
    ("fr", "montre mes tâches"),
    ("it", "mostra le attività"),
    ("nl", "toon mijn taken"),
    ("pt", "mostra as minhas tarefas"),
    ("zh", "我有哪些任务"),
    ("ja", "ジョブを見せて"),
    ("ko", "작업 보여 줘"),
]


@pytest.mark.parametrize(("code", "text"), JOBS_LISTED)
def test_jobs_are_listed(code: str, text: str) -> None:
    step = read(code, text)
    assert step is not None
    assert (step.orders, step.purpose) == ((Order("cron_list", {}),), "")


EVERY_REMOVED = [
    ("en", "cancel all reminders"),
    ("en", "delete my reminders"),
    ("de", "lösche alle Erinnerungen"),
    ("es", "borra todos los recordatorios"),
    ("fr", "annule tous les rappels"),
    ("it", "cancella tutti i promemoria"),
    ("nl", "verwijder alle herinneringen"),
    ("pt", "apaga todos os lembretes"),
    ("zh", "取消所有提醒"),
    ("ja", "リマインダーを全部取り消して"),
    ("ko", "알림 전부 취소해 줘"),
]


@pytest.mark.parametrize(("code", "text"), EVERY_REMOVED)
def test_all_reminders_go_the_last_one_first(code: str, text: str) -> None:
    step = changed(text, code)
    assert isinstance(step, CallStep), step
    assert step.orders == (
        Order("timer_cancel", {"number": 2}),
        Order("timer_cancel", {"number": 1}),
        Order("cron_remove", {"name": "reminder-1"}),
    )


def test_all_are_those_of_whoever_says_it() -> None:
    step = read("en", "cancel all jobs")
    assert step is not None
    of_others = {"name": "order-2", "prompt": "pump on", "of": "mei"}
    found = [Exchange(step.orders[0], json.dumps({"jobs": [JOBS[0], of_others]}))]
    every = change_scheduled(analyse("cancel all jobs", "en"), found, BOX)
    assert isinstance(every, CallStep)
    assert every.orders == (Order("cron_remove", {"name": "order-1"}),)
    one = change_scheduled(analyse("cancel the job order-2", "en"), found, BOX)
    assert isinstance(one, CallStep)
    assert one.orders == (Order("cron_remove", {"name": "order-2"}),)


ONE = [
    ("cancel the reminder to call Mei", Order("timer_cancel", {"number": 2})),
    ("delete the plants reminder", Order("timer_cancel", {"number": 1})),
    (
        "pause the reminder about the plants",
        Order("timer_change", {"number": 1, "state": "paused"}),
    ),
    ("cancel the reminder to feed the cat", Order("cron_remove", {"name": "reminder-1"})),
    ("delete the job order-1", Order("cron_remove", {"name": "order-1"})),
    ("remove order-10", Order("cron_remove", {"name": "order-10"})),
    ("pause order-1", Order("cron_pause", {"name": "order-1"})),
    ("resume order-1", Order("cron_pause", {"name": "order-1", "resume": True})),
    ("stop the light job", Order("cron_remove", {"name": "order-10"})),
]


@pytest.mark.parametrize(("text", "wanted"), ONE)
def test_the_one_that_was_said_is_changed(text: str, wanted: Order) -> None:
    step = changed(text)
    assert isinstance(step, CallStep), step
    assert step.orders == (wanted,)


def test_of_several_it_is_asked_which_and_a_name_answers() -> None:
    step = changed("delete the job")
    assert isinstance(step, AskStep)
    assert [one.choice.text for one in step.need.options] == ["order-1", "order-10", "reminder-1"]
    answer = replied(step, "order-1", clauses_of(analyse("order-1", "en")))
    assert isinstance(answer, CallStep)
    assert answer.orders == (Order("cron_remove", {"name": "order-1"}),)


def test_where_none_fits_those_that_there_are_are_named() -> None:
    step = changed("cancel the reminder about the dog")
    assert isinstance(step, SayStep)
    assert step.key == "no_such_scheduled"
    assert step.slots["things"] == "call Mei, water the plants, Reminder: feed the cat"


@pytest.mark.parametrize(
    ("text", "key"),
    [("cancel the reminder", "reminders_none"), ("delete the job", "jobs_none")],
)
def test_where_there_is_none_that_is_said(text: str, key: str) -> None:
    step = changed(text, empty=True)
    assert isinstance(step, SayStep)
    assert step.key == key


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "remind me in 10 minutes to cancel my subscription"),
        ("en", "set a reminder to cancel the order at 8"),
        ("en", "a reminder to cancel my subscription"),
        ("en", "don't cancel the reminder"),
        ("en", "should I cancel the reminder?"),
        ("en", "cancel the reminder and turn the pump on for 5 seconds"),
        ("en", "good job"),
        ("en", "what is my job?"),
        ("de", "was ist meine Aufgabe?"),
        ("en", "turn the led on"),
        ("de", "erinnere mich um 8 daran, den Auftrag zu löschen"),
        ("zh", "十分钟后提醒我取消订阅"),
        ("ja", "10分後にリマインドして"),
        ("ko", "10분 뒤에 알림"),
        ("en", ""),
    ],
)
def test_what_is_about_something_else_is_left_to_others(code: str, text: str) -> None:
    assert read(code, text) is None


def test_where_there_are_no_jobs_nothing_is_read() -> None:
    assert about_scheduled(analyse("list my jobs", "en"), toolbox(TIMED)) is None


BY_TIME = [
    ("en", "cancel the 8 o'clock reminder"),
    ("en", "delete the reminder for tomorrow"),
    ("en", "pause my reminder at 8"),
    ("de", "lösche die Erinnerung um 8"),
    ("de", "Erinnerung um 8 Uhr löschen"),
    ("es", "cancela el recordatorio a las 8"),
    ("fr", "annule le rappel à 8 heures"),
    ("it", "annulla il promemoria alle 8"),
    ("pt", "cancela o lembrete às 8"),
    ("nl", "annuleer de herinnering om 8 uur"),
    ("zh", "取消八点的提醒"),
    ("ja", "8時のリマインダーを取り消して"),
    ("ko", "8시 알림 취소"),
]


@pytest.mark.parametrize(("code", "text"), BY_TIME)
def test_a_reminder_that_is_called_by_its_time_sets_no_other_one(code: str, text: str) -> None:
    step = changed(text, code)
    assert isinstance(step, SayStep)
    assert step.key == "no_such_scheduled"


SET = [
    ("en", "set a reminder at 8 to cancel the gym"),
    ("en", "reminder at 8: cancel the gym"),
    ("en", "remind me at 8 to delete the photos"),
    ("zh", "八点提醒我取消订单"),
]


@pytest.mark.parametrize(("code", "text"), SET)
def test_what_is_to_be_cancelled_at_a_time_is_being_set(code: str, text: str) -> None:
    assert read(code, text) is None


def test_an_answer_names_a_reminder_whose_number_may_have_changed() -> None:
    step = changed("cancel the reminder")
    assert isinstance(step, AskStep)
    given = [option.drafts[0].arguments for option in step.need.options]
    assert given == [
        {"name": "call Mei", "reminder": True},
        {"name": "water the plants", "reminder": True},
        {"name": "reminder-1"},
    ]
