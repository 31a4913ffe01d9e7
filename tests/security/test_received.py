"""Folders of received files: one for each id, and none that another id could be given."""

import re
from pathlib import Path

import pytest

from agent.security.received import (
    RECEIVED,
    folder_of_group,
    folder_of_person,
    is_received,
    owner_of,
)


def test_a_plain_id_is_its_own_folder() -> None:
    assert folder_of_person("anna-2") == "anna-2"
    assert folder_of_group("telegram-100") == "group-telegram-100"


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna", "anna"), ("a/b", "a-b"), ("..", "."), ("x" * 41, "x" * 42), ("\u6885", "\u6797")],
)
def test_two_ids_never_share_a_folder(one: str, other: str) -> None:
    assert folder_of_person(one) != folder_of_person(other)
    assert folder_of_group(one) != folder_of_group(other)


@pytest.mark.parametrize("person", ["..", "../x", "a/b", "A\x00", "\ud800", ""])
def test_a_folder_is_one_plain_name(person: str) -> None:
    for name in (folder_of_person(person), folder_of_group(person)):
        assert name.strip("abcdefghijklmnopqrstuvwxyz0123456789-") == ""
        assert name


def test_no_persons_folder_is_taken_for_that_of_a_group() -> None:
    assert folder_of_person("group-telegram-100") != folder_of_group("telegram-100")


@pytest.mark.parametrize(
    ("path", "owner", "is_sent"),
    [
        (f"{RECEIVED}/anna/list.txt", "anna", True),
        (f"{RECEIVED}/anna", "anna", True),
        (RECEIVED, "", True),
        ("notes/anna/list.txt", "", False),
        (f"{RECEIVED}s/anna", "", False),
    ],
)
def test_a_path_tells_who_sent_it(path: str, owner: str, is_sent: bool) -> None:  # noqa: FBT001 - of a table
    assert owner_of(path) == owner
    assert is_received(path) is is_sent


@pytest.mark.parametrize("letter", ["x", "\u6885", "A"])
def test_a_folder_of_the_longest_id_can_be_made(letter: str, tmp_path: Path) -> None:
    for name in (folder_of_person(letter * 1000), folder_of_group(letter * 1000)):
        (tmp_path / name).mkdir()


def test_of_a_long_id_the_folder_shows_the_beginning_and_a_short_hash() -> None:
    assert re.fullmatch(r"x{40}-[0-9a-f]{8}", folder_of_person("x" * 1000))
