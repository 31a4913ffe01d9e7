"""Which machine has two slots."""

import pytest

from agent.errors import UpdateRefused
from agent.update.machine import find_machine
from tests.fakes.card import BUILT_S, Card


def test_the_slot_that_runs_and_the_other_one(card: Card) -> None:
    machine = card.machine()
    assert (machine.running, machine.other) == ("A", "B")
    assert machine.partition("B") == card.partition("B")
    assert machine.knows_tryboot


@pytest.mark.parametrize(
    ("version", "built_s", "is_newer"),
    [
        ("0.1.0", BUILT_S, False),
        ("0.1", BUILT_S, False),
        ("0.1.0", BUILT_S + 1, True),
        ("0.1.1", 0, True),
        ("0.10.0", 0, True),
        ("0.0.99", BUILT_S + 1, False),
    ],
)
def test_versions_are_compared_as_numbers(
    card: Card, version: str, built_s: int, *, is_newer: bool
) -> None:
    assert card.machine().is_newer(version, built_s) is is_newer


@pytest.mark.parametrize("content", ["", "{}", '{"version": "one"}', "[" * 5000])
def test_a_machine_that_says_nothing_of_itself_has_no_slots(card: Card, content: str) -> None:
    (card.root / "usr/share/barnacle/image.json").write_text(content)
    with pytest.raises(UpdateRefused, match="does not run a Barnacle image"):
        find_machine(card.root)


@pytest.mark.parametrize(
    "line",
    ["root=/dev/sda1 barnacle.slot=A", "root=PARTUUID=ba12ac1e-03 barnacle.slot=A", "quiet"],
)
def test_a_kernel_that_was_told_something_else_is_not_believed(card: Card, line: str) -> None:
    (card.root / "proc/cmdline").write_text(line + "\n")
    with pytest.raises(UpdateRefused, match="does not name the running slot"):
        find_machine(card.root)
