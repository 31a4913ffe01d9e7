import copy
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.provision.toml_text import Table, dumps, edited

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT | st.floats(allow_nan=False)
VALUE = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(TEXT, VALUE, max_size=5))
def test_what_is_written_is_read_back(table: dict[str, object]) -> None:
    assert tomllib.loads(dumps(table)) == table


def test_it_is_written_as_a_person_would() -> None:
    table: dict[str, object] = {
        "board": {"port": "/dev/ttyACM0", "pins": {"pump": {"pin": "PB0", "max_on_s": 30}}},
        "channels": {"telegram": {}},
    }
    assert dumps(table) == (
        '[board]\nport = "/dev/ttyACM0"\n\n[board.pins.pump]\npin = "PB0"\nmax_on_s = 30\n\n'
        "[channels.telegram]\n"
    )


BY_HAND = """\
# My greenhouse
[agent]
name = "Rosa"  # after grandma
# how far
autonomy = "supervised"

# The board is in the shed
[board]
port = "/dev/ttyACM0"

[board.pins.pump]
pin = "PB0"

# The bot of the house
[channels.telegram]
allow = [
  "a",  # Ann
]
"""


def test_a_value_changes_and_the_comments_stay() -> None:
    table = _by_hand()
    table["agent"] |= {"name": "Iris", "summaries": False}
    table["board"]["pins"]["fan"] = {"pin": "PB1"}
    assert edited(BY_HAND, table) == BY_HAND.replace('"Rosa"', '"Iris"').replace(
        'autonomy = "supervised"\n', 'autonomy = "supervised"\nsummaries = false\n'
    ).replace('pin = "PB0"\n', 'pin = "PB0"\n\n[board.pins.fan]\npin = "PB1"\n')


def test_a_key_goes_and_the_rest_stays() -> None:
    table = _by_hand()
    del table["agent"]["autonomy"]
    assert edited(BY_HAND, table) == BY_HAND.replace('autonomy = "supervised"\n', "")


def test_what_stays_the_same_is_the_same_text() -> None:
    assert edited(BY_HAND, _by_hand()) == BY_HAND
    # Equal in Python, but not the same to whoever reads the file
    assert edited("is = 1\n", {"is": True}) == "is = true\n"


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("a.b = 1\na.c = 2\nd = 3\n", {"a": {"c": 5, "k k": [{"p": 1}]}, "d": 3}),
        ("[a.x]\nk = 1\n[b]\nz = 1\n[a.y]\nk = 2\n", {"a": {}, "b": {"z": 1}}),
        ("[a.b.c]\nv = 1\n[a.b]\nw = 2\n", {"a": {"b": {"w": True, "k k": 5}}, "k": 1}),
        ("[a]\nr.p.t = 1\n[a.r.n]\nt = 2\n", {"a": {"r": {"new": "s"}, "z": "s"}}),
        ("a = { b = 1 }\n[[x]]\nn = 1\n", {"a": {"b": 2}, "x": [{"n": 1}, {"n": 2}]}),
    ],
)
def test_tables_whose_parts_stand_apart_read_back(text: str, table: Table) -> None:
    assert tomllib.loads(edited(text, table)) == table


def test_a_text_that_is_no_toml_gives_way() -> None:
    assert edited("a = [\n", {"a": 1}) == "a = 1\n"


TABLES = st.dictionaries(TEXT, VALUE, max_size=5)


@given(TABLES, TABLES)
def test_an_edited_text_reads_back(old: Table, new: Table) -> None:
    both = {**copy.deepcopy(old), **new}
    for wanted in (new, both):
        assert tomllib.loads(edited(dumps(old), wanted)) == wanted


def _by_hand() -> dict[str, Any]:
    return tomllib.loads(BY_HAND)
