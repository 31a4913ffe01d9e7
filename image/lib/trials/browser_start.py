"""A card with nothing written on it: a browser asks the questions, and their answers set it up."""

import asyncio
import html
import re
import time
from http import HTTPStatus
from urllib.parse import quote

from agent.console.guards import SESSION_COOKIE
from image.lib import first_boot
from image.lib.emulated.bench import Bench
from image.lib.emulated.guest import PLACES
from image.lib.trials.expectation import expect
from tests.fakes.browser import Browser

_LABEL = re.compile(r'<label for="answer">(.*?)</label>', re.DOTALL)
_NUMBER = re.compile(r'name="number" value="(\d+)"')
_TAG = re.compile(r"<[^>]+>")
_LAST = "Is that all right?"
# By how each question begins
_ANSWERS = {
    "Name of the device": "greenhouse",
    "Time zone": "Europe/Berlin",
    "Does the device use Wi-Fi": "y",
    "Name of the Wi-Fi": "Home",
    "Its password": first_boot.PASSWORD,
    "Country": "DE",
    "Which model service": "cloudflare",
    "Its address": f"http://{PLACES['model']}/v1",
    "Its API key": first_boot.KEY,
    "Which model": "fake-model",
    "The service does not list": "y",
    "Which platforms": "none",
    _LAST: "y",
}
# The service that takes the answers over, and the agent's next start, emulated
_PATIENCE_S = 300.0
_LOOK_S = 1.0
_LOOKS = ("the time zone", "no secret in them", "the connection", "the agent")


def run(bench: Bench, amount: int) -> str:
    del amount
    bench.put_blank_card()
    started_s = bench.start()
    try:
        told = asyncio.run(_set_up(bench))
    finally:
        # Without its messenger no other trial can use it
        bench.spend_card()
    return f"started after {started_s:.0f} s, {told}"


async def _set_up(bench: Bench) -> str:
    browser = Browser(f"http://127.0.0.1:{bench.guest.pages_port}")
    await browser.get("/")
    await browser.send("/door/enter", code=bench.pairing_code())
    expect(browser.cookies.get(SESSION_COOKIE), f"the code lets nobody in: {browser.text[:500]}")
    begun_s = time.monotonic()
    asked = await _answer(browser)
    for what in _LOOKS:
        said, is_right = first_boot.LOOKS[what](bench.shell.run)
        expect(is_right, f"{what}: {said}")
    name = bench.shell.run("cat /etc/hostname")
    expect(name == _ANSWERS["Name of the device"], f"its name at the next start is {name}")
    page = await browser.send("/say", text="turn+on+the+led")
    expect(page.status == HTTPStatus.SEE_OTHER, f"/say has status {page.status}")
    while not [level for level, *_ in bench.board.changes("led") if level]:
        taken_s = time.monotonic() - begun_s
        expect(taken_s < _PATIENCE_S, f"the led is off {taken_s:.0f} s after the first question")
        await asyncio.sleep(_LOOK_S / 10)
    taken_s = time.monotonic() - begun_s
    expect(bench.outside.asked, "the model was not asked")
    return (
        f"{asked} questions answered, the first sentence switched the led on after {taken_s:.0f} s"
    )


async def _answer(browser: Browser) -> int:
    """Answer until the page asks for the first sentence; return the number of questions."""
    asked: set[str] = set()
    deadline_s = time.monotonic() + _PATIENCE_S
    await browser.get("/setup")
    await browser.send("/setup/begin")
    while _LAST not in asked or 'action="/say"' not in browser.text:
        expect(time.monotonic() < deadline_s, f"after {sorted(asked)}: {browser.text[-1500:]}")
        question, number = _LABEL.search(browser.text), _NUMBER.search(browser.text)
        if question and number:
            text = html.unescape(_TAG.sub("", question[1])).strip()
            known = next((begins for begins in _ANSWERS if text.startswith(begins)), "")
            expect(known, f"nobody told the answer to {text!r}")
            expect(known not in asked, f"{text!r} is asked again: {browser.text[-1500:]}")
            asked.add(known)
            await browser.send("/setup/answer", number=number[1], answer=quote(_ANSWERS[known]))
        else:
            await asyncio.sleep(_LOOK_S)
        await browser.get("/setup")
    return len(asked)
