import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.providers.prompted.lenient import LenientReader, Unreadable

CLOSING = re.compile("</x>")
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=12,
)


def value(text: str) -> object:
    return LenientReader(text, CLOSING).value(0).value


@given(_JSON)
def test_all_json_is_read_as_what_it_is(content: object) -> None:
    text = json.dumps(content, indent=1)
    found = LenientReader(text).value(0)
    assert (found.value, found.end) == (content, len(text))


@given(_JSON.filter(lambda content: isinstance(content, dict | list) and bool(content)))
def test_no_json_that_is_cut_is_read_without_a_mark_after_it(content: object) -> None:
    text = json.dumps(content)
    for end in range(len(text)):
        with pytest.raises(Unreadable):
            LenientReader(text[:end], CLOSING).value(0)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{'a': 'it\\'s \"so\"'}", {"a": 'it\'s "so"'}),
        ("{a: 1, b_c: [1, 2,],}", {"a": 1, "b_c": [1, 2]}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": {"b": 1</x>', {"a": {"b": 1}}),
        ('{"a": {"b": 1}\n</x>', {"a": {"b": 1}}),
    ],
)
def test_what_models_misspell_is_read_as_it_was_meant(text: str, meant: object) -> None:
    assert value(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        *(
            "{a: {b: {c: {d: 1</x>",
            "{a: 1,</x>",
            "{a:</x>",
            "{a</x>",
            "{</x>",
            "[1</x>",
            "{a: [</x>",
        ),
        *('{"a": "b</x>', "{'it's': 1}", "{a: 1 b: 2}", "{a: 1, a: 2}", "{a: 01}", "{a: 1e999}"),
        *("{a: NaN}", "{a: b}", '{"a": "\\x"}', "[" * 40, "{,}", "[,]", "[1,,2]", "", " ", "}"),
    ],
)
def test_what_could_mean_several_things_is_not_guessed(text: str) -> None:
    with pytest.raises(Unreadable):
        value(text)
