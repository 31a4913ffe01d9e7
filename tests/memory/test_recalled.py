from hypothesis import given
from hypothesis import strategies as st

from agent.memory.recalled import HEADING, without_recalled


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
