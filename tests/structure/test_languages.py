"""A language is one file with its sentences: whole, in its own words, and with every number."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.providers.offline.language import detect
from agent.providers.offline.lexicon import LANGUAGES, folded, lexicon, variants
from agent.providers.offline.numerals import Numerals
from agent.providers.offline.units import split, tidy
from tests.providers.offline.spelled import SPELLED
from tests.providers.offline.talk import Talk, outcome
from tests.providers.offline.toolset import RICH, RICH_RESULTS

_HERE = Path(__file__).parents[1] / "providers" / "offline"
_SLOT = re.compile(r"\{(\w*)\}")
# Tables whose keys are facts of one language: its words, and how it writes and counts
_OWN = frozenset(
    {
        *("words", "acts", "acts_at_start", "acts_at_end", "at_start", "at_end", "alone", "talk"),
        "before_number",
        *("times", "times_at_start", "numbers", "numerals", "fractions", "labels", "objects"),
        *("language", "traditional", "feminine", "like", "measures", "separable"),
    }
)
# In tables that all have: words of times, which are a language's own too
_OWN_WITHIN = frozenset(
    {"timing.tags", "timing.spoken", "timing.spans", "timing.traditional", "timing.dayparts"}
)
# Only where there is a name or an answer to give
_OPTIONAL = frozenset({"value"})
# A shorter template may be the same in two languages
_TELLING_WORDS = 5
# What every language must be able to say of timers and reminders
_TIMED = dict.fromkeys(
    ("timer", "start", "cancel", "add", "remove", "pause", "resume", "status", "remind", "every"),
    True,
)


def _paths(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of a vocabulary that all languages must have, with its value."""
    for key, value in table.items():
        path = f"{before}{key}"
        if path in _OWN or path in _OWN_WITHIN:
            continue
        if isinstance(value, dict) and not path.startswith("timing.every_day"):
            yield from _paths(value, f"{path}.")
        else:
            yield path, value


UNION = sorted({path for code in LANGUAGES for path, _ in _paths(lexicon(code).wording)})


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_every_key_that_any_other_has(code: str) -> None:
    own = {path for path, _ in _paths(lexicon(code).wording)}
    optional = {path for path in UNION if path.startswith("timing.") and path.count(".") == 1}
    # English says why something failed in the words that it is told
    optional |= {path for path in UNION if code == "en" and path.startswith("reasons.")}
    assert [path for path in UNION if path not in own and path not in optional] == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_its_answers_have_the_slots_of_the_english_ones(code: str) -> None:
    english = dict(_paths(lexicon("en").wording))
    for path, value in _paths(lexicon(code).wording):
        if isinstance(value, str) and isinstance(english.get(path), str):
            own = {slot.lower() for slot in _SLOT.findall(value)} - _OPTIONAL
            wanted = {slot.lower() for slot in _SLOT.findall(english[path])} - _OPTIONAL
            assert own == wanted, path


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_answer_is_in_another_language(code: str) -> None:
    wrong = []
    for path, value in _paths(lexicon(code).wording):
        if isinstance(value, str):
            text = _SLOT.sub(" ", value)
            if len(text.split()) >= _TELLING_WORDS and detect(text, code) != code:
                wrong.append((path, value))
    assert wrong == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_answer_of_a_language_is_the_english_one(code: str) -> None:
    english = dict(_paths(lexicon("en").wording))
    same = [
        path
        for path, value in _paths(lexicon(code).wording)
        if code != "en"
        and isinstance(value, str)
        and len(re.findall(r"[^\W\d_]{2,}", _SLOT.sub(" ", value))) > 1
        and value == english.get(path)
    ]
    assert same == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_it_has_words_for_all_that_is_done_with_timers(code: str) -> None:
    tags = lexicon(code).wording.get("timing", {}).get("tags", _TIMED)
    assert all(tags.get(tag) for tag in _TIMED)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_unit_has_a_name(code: str) -> None:
    measures = lexicon(code).wording["measures"]
    wanted = {unit for one in LANGUAGES for unit in lexicon(one).wording["measures"]} - {"%"}
    assert wanted - measures.keys() <= {"mV", "mA"}


@pytest.mark.parametrize("code", LANGUAGES)
def test_it_has_sentences_of_its_own(code: str) -> None:
    tables = tomllib.loads((_HERE / "utterances" / f"{code}.toml").read_text("utf-8"))
    assert sum(map(len, tables.values())) >= 30
    never = tomllib.loads((_HERE / "utterances" / "never.toml").read_text("utf-8"))
    assert len(never[code]) >= 12


@pytest.mark.parametrize("code", list(SPELLED))
def test_every_whole_number_below_a_thousand_is_read_whole(code: str) -> None:
    numerals = Numerals(lexicon(code).wording, folded)
    # One alone is an article
    for number in (0, *range(2, 1000)):
        units = split(tidy(SPELLED[code](number)), variants())
        found = numerals.read(units, 0)
        assert found is not None, SPELLED[code](number)
        assert (found.value, found.end) == (number, len(units)), SPELLED[code](number)


_SHARES = {
    "fr": ("mets le ventilateur à {} %", "règle le ventilateur à {} pour cent"),
    "it": ("imposta il ventilatore al {} %", "metti il ventilatore al {} per cento"),
    "pt": ("põe o ventilador a {} %", "ajusta o ventilador para {} por cento"),
    "nl": ("zet de ventilator op {} %", "stel de ventilator in op {} procent"),
}


@pytest.mark.parametrize("code", list(_SHARES))
async def test_every_share_is_set_in_digits_and_in_words(code: str) -> None:
    digits, words = _SHARES[code]
    wrong = []
    for number in range(101):
        for said in (digits.format(number), words.format(SPELLED[code](number))):
            response = await Talk(RICH, RICH_RESULTS).say(said)
            if outcome(response) != f"board_pwm_write pin=fan frequency=0 duty={number}":
                wrong.append((said, outcome(response)))
    assert wrong == []


def test_a_language_that_lacks_something_is_found() -> None:
    whole = lexicon("en").wording
    maimed = {key: value for key, value in whole.items() if key != "weekdays"}
    own = {path for path, _ in _paths(maimed)}
    assert "weekdays.Monday" in set(UNION) - own
