# ruff: noqa: E501  # one result a line
import json
from dataclasses import dataclass

import pytest

from agent.providers.offline.conversation import Exchange
from agent.providers.offline.lexicon import LANGUAGES
from agent.providers.offline.plan import Order
from agent.providers.offline.timer_words import (
    SpokenTimers,
    job_told,
    late_reminder,
    reminder,
    reminders_alone,
    timer_told,
)
from agent.providers.offline.voice import Voice


@dataclass(frozen=True)
class Ended:
    """A timer as it is spoken of."""

    seconds: float = 600
    name: str = ""
    order: str = ""
    text: str = ""


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_says_every_end(code: str) -> None:
    words = SpokenTimers(code)
    said = [
        words.ended(Ended()),
        words.ended(Ended(name="Tee")),
        words.ended(Ended(text="Tee")),
        words.missed(Ended(), 200),
        words.missed(Ended(text="Tee"), 4000),
        words.missed(Ended(order="Licht"), 60),
        reminder("Tee", code),
        late_reminder("Tee", code),
    ]
    assert all(said)
    assert all("{" not in one for one in said)
    assert len(set(said)) == len(said) - 1, "a reminder is said alike at its time, however it came"


def test_a_long_delay_is_told_without_its_seconds() -> None:
    assert "about 1 h 7 min ago" in SpokenTimers("en").missed(Ended(), 4005)
    assert "about 3 min 5 s ago" in SpokenTimers("en").missed(Ended(), 185)


def test_a_language_that_is_not_known_is_english() -> None:
    assert SpokenTimers("tlh").ended(Ended()) == "Your 10 min timer has ended."


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"started": {"seconds": 600, "ends": "2026-11-22T08:10:05+00:00"}}, "10 min timer: started, it ends at 08:10:05."),
        ({"started": {"seconds": 600, "ends": "soon"}}, "10 min timer: started, it ends at soon."),
        ({"started": {"seconds": 600, "name": "tea"}}, "Timer “tea” (10 min): started."),
        ({"started": {"seconds": 600, "order": "pump on"}}, "In 10 min I will do this: pump on"),
        ({"changed": {"seconds": 600, "left_seconds": 61, "state": "running"}}, "10 min timer: 1 min 1 s left."),
        ({"changed": {"seconds": 600, "left_seconds": 61, "state": "paused"}}, "10 min timer: paused with 1 min 1 s left."),
        ({"timers": []}, "You have no timers."),
        ({"timers": [{"seconds": 60, "left_seconds": 5}, {"seconds": 90, "left_seconds": 0, "text": "tea"}]}, "1 min timer: 5 s left.\nReminder “tea” (1 min 30 s): 0 s left."),
        ({"cancelled": [{"seconds": 60}, {"seconds": 90, "order": "pump on"}]}, "1 min timer: cancelled. Order “pump on” (1 min 30 s): cancelled."),
        ({"reminder": {"seconds": 60, "text": "tea"}}, "I will remind you in 1 min: tea"),
        ({"reminder": {"first": "2026-11-22T08:00+00:00", "text": "tea"}}, "I will remind you at 08:00 (2026-11-22): tea"),
        ({"reminder": {"first": "2026-11-22T08:00+00:00", "every": "day 08:00", "order": "pump on"}}, "I will do this repeatedly, first at 08:00 (2026-11-22): pump on"),
        ({"reminder": {"first": "then", "text": "tea"}}, "I will remind you at then: tea"),
        ({"reminders": []}, "You have no reminders."),
        ({"reminders": [{"seconds": 90, "left_seconds": 8, "text": "tea"}]}, "Reminder “tea” (1 min 30 s): 8 s left."),
        ({"jobs": []}, "You have no jobs."),
        ({"jobs": [{"name": "order-1", "prompt": "pump on", "next": "2026-11-22T08:00+00:00"}, {"name": "b", "message": "tea", "state": "paused"}, {"name": "c", "prompt": "d"}]}, "order-1, next at 08:00 (2026-11-22): “pump on”\nb, paused: “tea”\nc: “d”"),
        ({"value": "on"}, ""),
        ({"timers": "none"}, ""),
    ],
)  # fmt: skip
def test_what_came_of_an_order_is_told(result: dict[str, object], told: str) -> None:
    assert timer_told(result, Voice("en")) == told


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_tells_jobs(code: str) -> None:
    voice = Voice(code)
    deeds = [
        job_told("cron_pause", {deed: "a-1"}, voice)
        for deed in ("removed", "paused", "resumed", "running")
    ]
    lists = [
        timer_told(result, voice) for result in ({"jobs": []}, {"reminders": []}, {"timers": []})
    ]
    assert all("a-1" in said for said in deeds)
    assert all((*deeds, *lists))
    assert len({*deeds, *lists}) == 7


def test_what_another_tool_removed_is_no_job() -> None:
    assert job_told("watch_remove", {"removed": "a"}, Voice("en")) == ""
    assert job_told("cron_list", {"jobs": []}, Voice("en")) == ""


def exchange(tool: str, result: dict[str, object], **arguments: object) -> Exchange:
    return Exchange(Order(tool, arguments), json.dumps(result))


def test_of_jobs_only_those_that_say_something_are_reminders() -> None:
    jobs = exchange(
        "cron_list", {"jobs": [{"name": "a", "prompt": "pump on"}, {"name": "b", "message": "tea"}]}
    )
    none = exchange("timer_list", {"reminders": []}, reminder=True)
    some = exchange("timer_list", {"reminders": [{"text": "soup"}]}, reminder=True)
    saying = exchange("cron_list", {"jobs": [{"name": "b", "message": "tea"}]})
    orders = exchange("cron_list", {"jobs": [{"name": "a", "prompt": "pump on"}]})
    assert list(reminders_alone([some, jobs])) == [some, saying]
    assert list(reminders_alone([none, jobs])) == [saying]
    assert list(reminders_alone([none, orders])) == [none]
    assert list(reminders_alone([jobs])) == [jobs]
