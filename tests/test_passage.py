import enum
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import BarnacleError, CallRefused
from agent.messages import Provenance
from agent.passage import (
    Fact,
    Passage,
    configured,
    echo,
    fields,
    joined,
    lowest,
    outside,
    own,
    read,
)

OWNER, SENSOR, WEB = Provenance.OWNER, Provenance.SENSOR, Provenance.WEB
PAGE = outside("a page", WEB, "https://a.example/")
READING = outside("wet", SENSOR, "board:board")


class State(enum.Enum):
    WAITING = "waiting"


def test_our_own_words_lower_nothing_and_others_as_much_as_they_are() -> None:
    for words in (own("done"), echo("done"), configured("done"), own("{} of {}", 1, 2.5)):
        assert (words.provenance, words.source) == (OWNER, "")
    assert own("{} of {}", 1, 2.5).text == "1 of 2.5"
    assert own("{}: {}", State.WAITING, None).text == "waiting: None"
    assert own("it said {}", PAGE) == Passage("it said a page", WEB, "https://a.example/")


def test_braces_in_words_of_others_are_no_places() -> None:
    assert own("it said {}", outside("{0} {}", WEB)).text == "it said {0} {}"
    assert own("plain {}").text == "plain {}"


def test_what_is_put_together_is_trusted_as_the_least_of_it() -> None:
    assert joined(", ", [own("a"), READING, PAGE, own("b")]) == Passage(
        "a, wet, a page, b", WEB, "https://a.example/"
    )
    assert joined(", ", []) == Passage("", OWNER, "")
    told: dict[str, Fact] = {
        "name": own("a"),
        "state": State.WAITING,
        "none": None,
        "is_on": True,
        "list": [1, READING],
        "inner": {"page": PAGE},
    }
    words = fields(told)
    assert (words.provenance, words.source) == (WEB, "https://a.example/")
    assert json.loads(words.text) == {
        "name": "a",
        "state": "waiting",
        "none": None,
        "is_on": True,
        "list": [1, "wet"],
        "inner": {"page": "a page"},
    }
    assert fields({"reading": READING}).provenance is SENSOR
    assert fields({"a": 1}).provenance is OWNER
    assert read({"a": "b"}, WEB, "x") == Passage('{"a":"b"}', WEB, "x")


@pytest.mark.parametrize("plain", ["text", b"bytes"])
def test_a_text_without_an_origin_is_refused_wherever_it_stands(plain: object) -> None:
    for told in ({"a": plain}, [plain], {"a": [{"b": plain}]}):
        with pytest.raises(TypeError, match="say whose words"):
            fields(told)  # type: ignore[arg-type]  # what mypy refuses, too
    with pytest.raises(TypeError, match="say whose words"):
        own("it said {}", plain)  # type: ignore[arg-type]  # as above


def test_what_is_made_of_one_keeps_its_origin_and_nothing_rises() -> None:
    assert PAGE.saying("a p") == Passage("a p", WEB, "https://a.example/")
    assert PAGE.below(OWNER) is PAGE
    assert PAGE.below(WEB, "elsewhere") is PAGE
    assert own("a").below(SENSOR, "board") == Passage("a", SENSOR, "board")
    assert READING.below(WEB) == Passage("wet", WEB, "board:board")
    assert str(PAGE) == "a page"


PASSAGES = st.builds(outside, st.text(max_size=5), st.sampled_from(Provenance), st.text(max_size=3))
FACTS = st.recursive(
    PASSAGES | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
)


@given(FACTS)
def test_nothing_is_ever_trusted_more_than_any_part(told: Fact) -> None:
    def parts(fact: Fact) -> list[Passage]:
        if isinstance(fact, Passage):
            return [fact]
        if isinstance(fact, dict):
            return [one for value in fact.values() for one in parts(value)]
        return [one for value in fact for one in parts(value)] if isinstance(fact, list) else []

    trusts = [one.provenance for one in parts(told)]
    assert fields(told).provenance == min(trusts, default=OWNER)
    assert own("it is {}", told).provenance == min(trusts, default=OWNER)
    assert lowest([told]).provenance == min(trusts, default=OWNER)


def test_an_error_is_trusted_as_little_as_what_was_read_unless_somebody_vouches() -> None:
    assert BarnacleError("it said x").words(WEB, "page") == Passage("it said x", WEB, "page")
    assert not BarnacleError("it said x").is_vouched_for
    vouched = BarnacleError(own("it is late"))
    assert str(vouched) == "it is late"
    assert vouched.words(WEB, "page") == own("it is late")
    refused = CallRefused("io", own("the stop is set"))
    assert (str(refused), refused.detail) == ("io: the stop is set", "the stop is set")
    assert refused.words(WEB).provenance is OWNER
    assert CallRefused("io", "the tank").words(SENSOR).provenance is SENSOR
    assert str(CallRefused("io")) == "io"
