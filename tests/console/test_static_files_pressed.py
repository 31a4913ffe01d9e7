"""The pages' scripts in a real Chromium: what a person presses and types on a page."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from agent.channels.attached.frames import ApprovalFrame, QuestionFrame
from agent.console import pages
from agent.console.pages import Visitor
from agent.console.wording import wording
from tests.fakes.chromium_page import NEEDS_CHROMIUM, told_by
from tests.fakes.console_home import HOME

pytestmark = NEEDS_CHROMIUM
HEBREW = "שלום, מה שלומך?"
VISITOR = Visitor("Ann", "owner", "token")
APPROVAL = ApprovalFrame(1, "shell", '{"command":"reboot"}', "it can do harm", "", "reboot")
QUESTION = QuestionFrame(2, "Which one?")
# A device that takes every request and never answers, and a browser of some years ago
SURROUNDINGS = """
const sent = [], streams = [], told = {};
delete AbortSignal.timeout;
window.EventSource = class extends EventTarget {
  constructor(address) { super(); this.address = address; streams.push(this); }
  tell(name, data = " ") { this.dispatchEvent(new MessageEvent(name, { data })); }
  close() {}
};
window.fetch = async () => ({ ok: true, status: 204 });
window.XMLHttpRequest = class extends EventTarget {
  upload = new EventTarget();
  open(method, path) { this.path = path; }
  overrideMimeType() {}
  setRequestHeader() {}
  getAllResponseHeaders() { return ""; }
  send() {
    sent.push(this.path);
    if (this.timeout) setTimeout(() => this.isOver || this.ontimeout(), this.timeout);
  }
  abort() { this.isOver = true; this.onabort(); }
};
"""
DOING = """
const one = (place) => document.querySelector(place);
const after = (ms) => new Promise((go) => setTimeout(go, ms));
const isShown = () => !one("#toast").hidden;
async function run() {
  told.direction = getComputedStyle(one(".bubble.mine .text")).direction;
  streams[0].tell("error");
  await after(2500);
  told.streams = streams.length;
  const stream = streams.at(-1);
  stream.tell("questions", parts.question);
  await after(2000);
  one("#answer-2").value = "the left o";
  stream.tell("questions", parts.both);
  told.typed = one("#answer-2").value;
  one('[value="yes"]').click();
  told.pressedAtOnce = [...sent];
  await after(2000);
  one('[value="yes"]').click();
  told.pressedLater = [...sent];
  sent.length = 0;
  one(".estop button").click();
  one(".estop button").click();
  told.stops = [...sent];
  await after(10000);
  told.isStopSaid = isShown();
  await after(10000);
  one("#text").value = "hello";
  one(".say button").click();
  await after(40000);
  told.isSilenceSaid = isShown() || told.wasShown;
}
window.addEventListener("load", () => setTimeout(() => {
  new MutationObserver(() => { if (sent.includes("/say") && isShown()) told.wasShown = true; })
    .observe(one("#toast"), { attributes: true });
  run().catch((err) => { told.fault = String(err); })
    .finally(() => { document.title = JSON.stringify(told); });
}, 100));
"""


def _page() -> str:
    """Return the page of a chat, with the surroundings and the doing put into it."""
    row = {"text": HEBREW, "at_s": 1.0, "files": [], "answer": "", "is_open": False}
    talk = {"messages": [{**row, "answer_files": []}], "told": []}
    values: dict[str, Any] = {"page": "chat", "device": "Greenhouse", "home": HOME}
    values |= {"visitor": VISITOR, "talk": talk, "questions": [], "shape": "x"}
    parts = {"question": _questions(QUESTION), "both": _questions(APPROVAL, QUESTION)}
    said = json.dumps(parts).replace("<", "\\u003c")
    before = f"<script>{SURROUNDINGS} const parts = {said}; {DOING}</script>"
    return pages.rendered("chat", wording("en"), **values).replace("<title>", f"{before}<title>", 1)


def _questions(*asked: ApprovalFrame | QuestionFrame) -> str:
    numbered = [(one.question, one) for one in asked]
    return pages.rendered("_questions", wording("en"), questions=numbered, visitor=VISITOR)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    shown, folder = {"": _page().encode()}, tmp_path_factory.mktemp("chromium")
    told = asyncio.run(told_by(shown, folder, budget_ms=120_000))
    assert "fault" not in told, told
    return told


def test_a_stop_goes_out_though_the_one_before_has_no_answer(told: Mapping[str, Any]) -> None:
    """A connection to a device that was without power is dead, and no error says so."""
    assert told["stops"] == ["/stop", "/stop"]


def test_a_press_that_nothing_answers_is_said(told: Mapping[str, Any]) -> None:
    assert (told["isStopSaid"], told["isSilenceSaid"]) == (True, True)


def test_an_answer_that_is_typed_stays_when_another_question_comes(told: Mapping[str, Any]) -> None:
    assert told["typed"] == "the left o"


def test_a_question_that_came_under_the_finger_takes_no_press(told: Mapping[str, Any]) -> None:
    assert (told["pressedAtOnce"], told["pressedLater"]) == ([], ["/answer"])


def test_an_older_browser_goes_on_when_the_device_is_back(told: Mapping[str, Any]) -> None:
    """Safari of iOS 15 knows no AbortSignal.timeout."""
    assert told["streams"] == 2


def test_words_written_from_right_to_left_are_shown_so(told: Mapping[str, Any]) -> None:
    assert told["direction"] == "rtl"
