from hypothesis import given
from hypothesis import strategies as st

from agent.memory.base import RECALLED_HEADING as HEADING
from agent.memory.base import Scope, without_recalled


def test_what_was_shown_is_taken_out_and_the_rest_stays() -> None:
    shown = f"{HEADING}\n- sister: lives in Taipei\n  with a cat\n- tea: green"
    assert without_recalled(shown) == ""
    assert without_recalled(f"The boiler is old.\n{shown}\nIt leaks.") == (
        "The boiler is old.\n\nIt leaks."
    )
    assert without_recalled(HEADING.upper()) == ""


@given(st.text())
def test_other_text_is_left_as_it_is(text: str) -> None:
    if HEADING.casefold() not in text.casefold():
        assert without_recalled(text) == text


@given(st.text(max_size=50), st.text(max_size=50))
def test_the_heading_never_stays(before: str, after: str) -> None:
    assert HEADING not in without_recalled(f"{before}{HEADING}\n{after}")


def test_a_memory_belongs_to_the_closest_owner_and_is_seen_where_that_one_is() -> None:
    at_table = Scope("mei", "telegram", "family", "barn")
    assert at_table.owners == ("person:mei", "group:family", "device:barn", "")
    assert at_table.owner == "person:mei"
    assert Scope("mei", "signal").sees(at_table)
    assert not Scope("tom", "telegram", "family", "barn").sees(at_table)
    assert Scope("tom", group="family").sees(Scope(group="family"))
    assert not Scope("tom").sees(Scope(group="family"))
    assert Scope().owners == ("",)
