"""The vocabulary files: whole, consistent, and alike in every language."""

import string
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from agent.providers.offline.lexicon import (
    LANGUAGES,
    dialects,
    lexicon,
    standard,
    traditional,
    variants,
)
from agent.providers.offline.senses import actions, hardware, marks, values

OTHERS = [code for code in LANGUAGES if code != "en"]
_TALK = """
from agent.providers.offline import interpreter, lexicon, small_talk
from agent.providers.offline.language import detect
from agent.providers.offline.learned_phrases import corrects
from agent.providers.offline.toolbox import lights_only

assert detect("turn on the led") == "en"
assert corrects("not that, the pump")
assert lights_only("corner lamp")
assert small_talk.language_of("good night") == "en"
print(lexicon.lexicon.cache_info().currsize)
"""
# Only where there is a name or an answer to give
OPTIONAL = {"value"}


def _slots(template: str) -> set[str]:
    return {name.lower() for _, name, _, _ in string.Formatter().parse(template) if name}


def _wording(code: str, table: str) -> Mapping[str, Any]:
    wording: Mapping[str, Any] = lexicon(code).wording[table]
    return wording


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("table", ["say", "deeds"])
def test_a_language_says_everything_that_english_says(code: str, table: str) -> None:
    own, english = _wording(code, table), _wording("en", table)
    assert own.keys() == english.keys()
    for key, template in own.items():
        assert _slots(template) - OPTIONAL == _slots(english[key]) - OPTIONAL, key


@pytest.mark.parametrize("code", OTHERS)
def test_a_language_knows_every_device_and_every_mark_that_orders_or_denies(code: str) -> None:
    known = {sense for forms in lexicon(code).forms.values() for f in forms for sense in f.senses}
    known |= {sense for senses in lexicon(code).alone.values() for sense in senses}
    rare = {"bulb", "heating", "soil"}
    assert hardware() - rare <= known
    needed = marks() - {"object", "done", "other", "lead", "particle", "step", "amend"}
    assert needed <= known


@pytest.mark.parametrize("code", LANGUAGES)
def test_english_senses_that_order_are_spelled_as_they_are_listed(code: str) -> None:
    """A misspelled mark would silently be a thing: marks of two words are looked at one by one."""
    listed = actions() | values() | marks()
    combined = [f.senses for forms in lexicon(code).forms.values() for f in forms]
    for senses in combined:
        if {"switch", "set"} & set(senses):
            assert set(senses) <= listed, senses


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_switch_never_means_on_and_off_at_once(code: str) -> None:
    for forms in lexicon(code).forms.values():
        for form in forms:
            assert not {"on", "off"} <= set(form.senses), form


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_form_of_denial_orders(code: str) -> None:
    for forms in lexicon(code).forms.values():
        for form in forms:
            assert not ("negate" in form.senses and actions() & set(form.senses)), form


def test_a_dialect_adds_to_the_tables_of_its_language() -> None:
    (swiss,) = dialects("de")
    own, both = standard("de"), lexicon("de").wording
    for senses in ("negate", "switch off"):
        assert both["words"][senses] == [*own["words"][senses], *swiss["words"][senses]]
    assert both["numbers"].items() >= {**swiss["numbers"], **own["numbers"]}.items()
    assert both["timing"]["tags"]["timer"] == own["timing"]["tags"]["timer"]
    assert "dialects" not in both


def test_a_dialect_says_nothing_that_its_language_has_no_table_for() -> None:
    for code in LANGUAGES:
        for dialect in dialects(code):
            assert _tables(dialect) <= _tables(standard(code))


def _tables(table: Mapping[str, Any], before: str = "") -> set[str]:
    """Return the paths of all tables in a table."""
    inner = {f"{before}{key}": one for key, one in table.items() if isinstance(one, Mapping)}
    below = [_tables(one, f"{path}.") for path, one in inner.items()]
    return set(inner).union(*below)


def test_traditional_characters_come_back_for_answers() -> None:
    assert "打開燈".translate({ord(old): new for old, new in variants().items()}) == "打开灯"
    assert "打开灯".translate(traditional()) == "打開燈"


def test_no_character_is_its_own_variant() -> None:
    assert all(old != new for old, new in variants().items())


def test_traditional_characters_are_those_of_the_same_word() -> None:
    spoken = "上面的静止台灯要紧，披萨"
    assert spoken.translate(traditional()) == "上面的靜止台燈要緊，披薩"


def test_only_the_language_that_is_spoken_stays_in_memory() -> None:
    done = subprocess.run([sys.executable, "-c", _TALK], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
