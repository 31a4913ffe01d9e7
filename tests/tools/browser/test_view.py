import json

import pytest

from agent.errors import BrowserFailed
from agent.tools.browser.page_script import MAX_ELEMENTS
from agent.tools.browser.view import (
    MAX_SHOWN_ELEMENTS,
    PageElement,
    PageReading,
    PageView,
    reading_of,
)

EMPTY = {"title": "Shop", "text": "Basil", "elements": [], "left": 0}


def test_what_the_script_tells_is_read() -> None:
    one = {"number": 7, "kind": "button", "name": "Buy"}
    reading = reading_of(json.dumps({**EMPTY, "elements": [one], "next": 8}), 7)
    assert (reading.title, reading.elements) == ("Shop", [PageElement(7, "button", "Buy")])


@pytest.mark.parametrize(
    "told",
    [
        "",
        "[]",
        "{}",
        json.dumps({**EMPTY, "next": 6}),
        json.dumps({**EMPTY, "next": 8 + MAX_ELEMENTS}),
        json.dumps({**EMPTY, "next": 10**15}),
        json.dumps({**EMPTY, "next": "x"}),
        json.dumps({**EMPTY, "elements": [{"number": "7"}], "next": 8}),
    ],
)
def test_what_no_script_of_ours_would_say_is_refused(told: str) -> None:
    with pytest.raises(BrowserFailed, match="cannot be read"):
        reading_of(told, 7)


def test_of_many_elements_the_first_are_shown_and_the_others_counted() -> None:
    elements = [PageElement(number, "link") for number in range(1, 101)]
    told = PageView("https://a.example.org/", PageReading("", "", elements, 5, 101)).told()
    shown = told["elements"]
    assert isinstance(shown, list)
    assert len(shown) == MAX_SHOWN_ELEMENTS
    assert told["elements_left_out"] == 100 - MAX_SHOWN_ELEMENTS + 5
    assert not {"happened", "leads_to", "sent", "trouble"} & set(told)
