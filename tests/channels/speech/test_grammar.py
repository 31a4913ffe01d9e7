from dataclasses import dataclass

import pytest

from agent.channels.speech.grammar import MAX_NAMES, grammar_of, names_of
from agent.link.manifest import BoardPin, Manifest


@dataclass
class Described:
    manifest: Manifest | None


def test_the_names_are_those_of_the_pins_by_now() -> None:
    pin = BoardPin(0, "living_room", "PA1", aliases=("Big Lamp",))
    known = Described(Manifest(1, "b", pins=(pin, BoardPin(1, "led", "PA2"))))
    assert [*names_of([Described(None), known])] == ["living_room", "Big Lamp", "led"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("living_room", ["living room"]),
        ("LED 2", ["led two"]),
        ("pump-10", ["pump one zero"]),
        ("Lüfter", []),
        ("灯", []),
        ("", []),
        ("a b c d e", []),
        ("x | y; public <z> = w", []),
        ("(led) /1/ {}", ["led one"]),
    ],
)
def test_a_name_is_what_somebody_says_and_never_a_rule(name: str, said: list[str]) -> None:
    assert [*grammar_of([name]).names] == said


def test_names_are_bounded_and_each_is_there_once() -> None:
    names = grammar_of(f"{'led ' * (n % 3 + 1)}{n % 100}" for n in range(1000)).names
    assert len(names) == len(set(names)) <= MAX_NAMES
