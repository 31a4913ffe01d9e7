from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.pin_aliases import Alias, aliases_in, parse

LIST = """# Pins

What is wired where, by its names.

red_led: 13
- pump, water pump, Pumpe: PB0
| name | pin | other words |
|------|-----|-------------|
| fan | GPIO 17 | 风扇, 팬 |
| `door` | `A0` | |
http://example.org: 80808080
note: see the datasheet
x: 4
"""


def names(text: str) -> dict[str, tuple[str, ...]]:
    return {alias.pin: alias.names for alias in parse(text, "pins.md")}


def test_pins_are_read_from_lines_and_tables_and_nothing_else_is() -> None:
    assert names(LIST) == {
        "13": ("red_led",),
        "PB0": ("pump", "water pump", "Pumpe"),
        "GPIO 17": ("fan", "风扇", "팬"),
        "A0": ("door",),
    }


@pytest.mark.parametrize(
    ("query", "pin"),
    [
        ("which pin is the red led?", "13"),
        ("An welchem Pin hängt die Pumpe?", "PB0"),
        ("Water-Pump wiring", "PB0"),
        ("风扇接在哪个引脚？", "GPIO 17"),
        ("팬은 어느 핀에 있나요?", "GPIO 17"),
        ("what hangs on PB0", "PB0"),
    ],
)
def test_a_question_names_a_pin_in_any_language(query: str, pin: str) -> None:
    assert [alias.pin for alias in parse(LIST, "pins.md") if alias.is_in(query)] == [pin]


@pytest.mark.parametrize("query", ["pumpkin soup", "the redled", "", "?", "fans of the door"[:4]])
def test_a_part_of_a_word_is_no_name(query: str) -> None:
    assert [alias for alias in parse(LIST, "pins.md") if alias.is_in(query)] == []


def test_the_files_have_their_names_and_nothing_else_is_read(tmp_path: Path) -> None:
    assert aliases_in(tmp_path) == []
    (tmp_path / "pins.md").write_text("lamp: 5\n")
    (tmp_path / "notes.md").write_text("other: 6\n")
    outside = tmp_path.parent / "outside.md"
    outside.write_text("secret: 7\n")
    (tmp_path / "aliases.md").symlink_to(outside)
    assert aliases_in(tmp_path) == [Alias("5", ("lamp",), "pins.md")]


@pytest.mark.parametrize(
    ("name", "query", "is_named"),
    [
        ("Tür", "Kannst du mir natürlich sagen, wie spät es ist?", False),
        ("Öl", "Wo wohnen die Wölfe?", False),
        ("née", "l'année dernière", False),
        ("Tür", "ist die Tür zu?", True),
        ("ไฟ", "เปิดไฟหน่อย", True),
    ],
)
def test_a_part_of_a_word_with_an_accent_is_no_name_either(
    name: str, query: str, *, is_named: bool
) -> None:
    assert Alias("PB3", (name,), "pins.md").is_in(query) is is_named


@given(st.text(max_size=300))
def test_whatever_stands_there_is_read_or_passed_over(text: str) -> None:
    for alias in parse(text, "pins.md"):
        assert alias.names
        assert alias.is_in(alias.sentence)
