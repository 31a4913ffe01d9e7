import pytest

from agent.channels.attached.frames import ApprovalFrame
from agent.console import pages
from agent.console.pages import Visitor, curve, fields, number, rendered, span, words
from agent.console.wording import LANGUAGES, wording
from agent.messaging.channel_supervisor import ChannelHealth
from tests.fakes.console_home import HOME, PIN

OWNER, GUEST = Visitor("Ann", "owner", "t" * 32), Visitor("Gus", "guest", "t" * 32)
SCRIPT = "<script>alert(1)</script>"


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_is_whole_in_every_language(code: str) -> None:
    home = {**HOME, "person": "Ann", "role": "owner"}
    board = {"name": "board", "state": "absent", "port": "", "trouble": "x", "kind": ""}
    boards = {"boards": [{**board, "pins": [PIN, {**PIN, "name": "pump", "value": None}]}]}
    rule = {"name": "dry", "rule": "When x: y.", "slot_state": "active", "fired": 1, "refused": 2}
    curves = {"series": [{"name": "tank", "unit": "°C", "is_switch": False}], "curves": []}
    job = {"name": "water", "state": "waiting", "cron": "", "at_s": 0, "every_s": 60}
    job |= {"text": "x", "ran_s": 1.0, "result": "done", "failures": 0}
    fact = {"text": "the tank leaks", "by": "owner", "source": "", "at_s": 1.0}
    account = {"channel": "console", "id": "abcd", "since_s": 1.0, "is_here": False}
    day = {"day": "2026-10-01", "requests": 1, "tokens": 2000, "usd": 0.1, "unpriced_tokens": 3}
    models = {"service": "openai", "model": "m", "trouble": "x", "today": "1", "days": [day]}
    models |= {"routes": [{"name": "fast", "model": "s"}], "fallbacks": ["a", "b"]}
    channel = {"name": "irc", "trouble": "x", "gap": "", "is_well": False, "heard_s": 3.5}
    channel |= {"last_s": 1.0, "waiting": 1, "lost": 1}
    link = {"is_offered": True, "step": "failed", "number": 1, "account": "", "trouble": "x"}
    line = {"at_s": 1.0, "level": "error", "text": "link: cut"}
    shown = {
        "home": {"troubles": ["x"]},
        "chat": {"talk": {"messages": [], "told": []}, "questions": []},
        "board": {"board": boards, "rules": [{"board": "b", "why": "", "rules": [rule]}]},
        "readings": {"told": curves, "span": "24h"},
        "jobs": {"told": [job]},
        "memory": {"told": {"count": 1, "facts": [fact]}},
        "audit": {"told": [{"n": 1, "at_s": 1.0, "kind": "effect", "ok": True}]},
        "people": {"told": [{"name": "Ann", "role": "owner", "accounts": [account]}]},
        "models": {"told": models},
        "channels": {
            "told": [{**channel, "state": one.value} for one in ChannelHealth],
            "link": link,
            "code": "",
            "is_well": False,
        },
        "log": {"told": [line], "level": "error"},
        "more": {},
    }
    for name, values in shown.items():
        html = rendered(
            name, wording(code), page=name, device="G", home=home, visitor=OWNER, **values
        )
        assert f'lang="{code}"' in html
        assert wording(code)(f"nav.{name}") in html
        assert "style=" not in html
        assert "<script>" not in html


def test_a_guest_is_shown_whether_it_is_well_and_no_more() -> None:
    home = {
        "name": "G",
        "person": "Gus",
        "role": "guest",
        "stopped": "",
        "questions": 0,
        "turns": 0,
    }
    html = rendered(
        "home", wording("en"), page="home", device="G", home=home, visitor=GUEST, troubles=[]
    )
    assert "/board" not in html
    assert wording("en")("home.guest") in html


def test_nothing_that_is_put_in_becomes_markup() -> None:
    talk = {"messages": [], "told": []}
    file = {"ref": SCRIPT, "name": SCRIPT, "media_type": "image/png", "size_bytes": 1}
    files = [file, {**file, "media_type": SCRIPT}]
    said = {"text": SCRIPT, "answer": SCRIPT, "at_s": 0.0, "is_open": False}
    talk["messages"] = [{**said, "files": files, "answer_files": files}]
    html = rendered("_talk", wording("en"), talk=talk)
    assert "<script" not in html
    assert html.count("&lt;script") == 14


def test_a_question_shows_every_character_of_its_call() -> None:

    asked = ApprovalFrame(
        3, "shell", '{"command":"rm \u202e\u200b-rf"}', "it can do harm", "", "all"
    )
    html = rendered("_questions", wording("en"), visitor=OWNER, questions=[(3, asked)])
    assert "\u202e" not in html
    assert "\u200b" not in html
    assert "202e" in html.lower()
    assert html.count("<button") == 3


@pytest.mark.parametrize(
    "text", ["[x](javascript:alert(1))", "[x](data:text/html,x)", '<a href="javascript:x">x</a>']
)
def test_no_link_of_an_answer_leads_to_a_script(text: str) -> None:
    assert '<a href="' not in words(text)
    assert 'blank" href="' not in words(text)


def test_a_link_of_an_answer_tells_nobody_where_it_was() -> None:
    assert 'rel="noopener noreferrer nofollow"' in words("[x](https://example.org)")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (21.456, "°C", "21.5 °C"),
        (0.0, "", "0"),
        (None, "V", "–"),
        (123456.0, "", "123456"),
        (999.4, "hPa", "999 hPa"),
        (999.7, "hPa", "1000 hPa"),
        (-999.5, "", "-1000"),
    ],
)
def test_a_number_is_short(value: float | None, unit: str, text: str) -> None:
    assert number(value, unit) == text


@pytest.mark.parametrize(
    ("ms", "text"), [(2000, "2 s"), (500, "0.5 s"), (90_000, "1 min 30 s"), (90_000_000, "1 d 1 h")]
)
def test_a_duration_is_in_its_largest_units(ms: float, text: str) -> None:
    assert span(ms) == text


def test_a_curve_stays_in_its_box() -> None:
    for values in ([1.0, 2.0, 1.5], [3.0, 3.0], [-5.0, 1e9]):
        points = [tuple(map(float, one.split(","))) for one in curve(values).split()]
        assert len(points) == len(values)
        assert all(0 <= x <= 100 and 0 <= y <= 24 for x, y in points)


def test_what_needs_a_look_is_told() -> None:
    assert pages.troubles(HOME) == []
    ill = {**HOME, "troubles": {"telegram": "no network"}, "machine": ["hot"]}
    assert pages.troubles(ill) == ["telegram: no network", "hot"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"pin":"led","value":"on"}', "pin led, value on"),
        (
            '{"pin":"a0","value":1.5,"is_low":false,"text":null}',
            "pin a0, value 1.5, is_low false, text null",
        ),
        ('{"pins":["led"]}', '{"pins":["led"]}'),
        ("{}", ""),
        ("[1]", "[1]"),
        ("7", "7"),
        ("led is on", "led is on"),
        ("[" * 100_000, "[" * 100_000),
        ("", ""),
    ],
)
def test_what_a_tool_told_is_read_without_its_signs(text: str, shown: str) -> None:
    assert fields(text) == shown
