"""Whose a file is: the longest folder that fits says it, and the strictest part of a folder."""

import pytest

from agent.security.access import Audience, AudienceRole, Circle, Holding, may_read
from agent.security.policy import Verdict
from agent.security.shares import (
    NOTHING_PRIVATE,
    NOTHING_SHARED,
    PASSED_ON,
    READINGS,
    REHEARSED,
    Disclosure,
    Shares,
    households,
    is_private,
    owners,
)

SHARES = Shares(
    {"menu": "everybody", "menu/drafts": "household", "anna": "Anna", "plans/trip.txt": "everybody"}
)


@pytest.mark.parametrize(
    ("path", "circle", "person"),
    [
        ("diary.txt", Circle.PERSON, "owner"),
        ("menu", Circle.EVERYBODY, ""),
        ("menu/today.txt", Circle.EVERYBODY, ""),
        ("menu/drafts/x.txt", Circle.HOUSEHOLD, ""),
        ("menus/x.txt", Circle.PERSON, "owner"),
        ("anna/list.txt", Circle.PERSON, "Anna"),
        ("plans/trip.txt", Circle.EVERYBODY, ""),
        ("plans/other.txt", Circle.PERSON, "owner"),
    ],
)
def test_a_file_belongs_to_whom_its_folder_does(path: str, circle: Circle, person: str) -> None:
    assert SHARES.of_file(path) == Holding(path, circle, person)


@pytest.mark.parametrize(
    ("folder", "what", "circle", "person"),
    [
        (".", "the workspace", Circle.PERSON, "owner"),
        ("menu", "menu", Circle.HOUSEHOLD, ""),
        ("menu/drafts", "menu/drafts", Circle.HOUSEHOLD, ""),
        ("anna", "anna", Circle.PERSON, "Anna"),
        ("plans", "plans", Circle.PERSON, "owner"),
    ],
)
def test_the_strictest_part_of_a_folder_decides(
    folder: str, what: str, circle: Circle, person: str
) -> None:
    assert SHARES.of_tree(folder) == Holding(what, circle, person)


def test_what_somebody_sent_is_theirs_alone_and_no_name_stands_for_them() -> None:
    file, folder = "received/anna/list.txt", "received/anna"
    assert SHARES.of_file(file) == Holding(file, person="anna", by_folder=True)
    assert SHARES.of_tree(folder) == Holding(folder, person="anna", by_folder=True)
    sender = Audience(AudienceRole.GUEST, "anna", "Anna")
    namesake = Audience(AudienceRole.GUEST, "c3d4", "anna")
    for held in (SHARES.of_file(file), SHARES.of_tree(folder)):
        assert may_read([held], sender).verdict is Verdict.ALLOW
        assert may_read([held], namesake).verdict is not Verdict.ALLOW


def test_the_owner_may_say_more_of_a_folder_of_received_files() -> None:
    shares = Shares({"received": "everybody", "received/anna": "household"})
    assert shares.of_file("received/anna/a.txt").circle is Circle.HOUSEHOLD
    # Who shares the folder of all of them has not said so of each person's
    assert shares.of_file("received/ben/a.txt").person == "ben"


def test_all_of_a_workspace_can_be_shared() -> None:
    shares = Shares({".": "household", "diary": "owner"})
    assert shares.of_file("x/y.txt").circle is Circle.HOUSEHOLD
    assert shares.of_tree("x").circle is Circle.HOUSEHOLD
    assert shares.of_tree(".") == Holding("the workspace", Circle.PERSON, "owner")


def test_what_a_call_shows_is_looked_up() -> None:
    shown = Disclosure(("menu/x",), ("anna",), readings=True, of_asker="memories")
    assert SHARES.holdings(shown, "ben") == [
        Holding("menu/x", Circle.EVERYBODY, ""),
        Holding("anna", Circle.PERSON, "Anna"),
        Holding("readings", Circle.EVERYBODY),
        Holding("memories", Circle.PERSON, "ben"),
    ]
    assert NOTHING_SHARED.holdings(owners("the mail"), "ben") == [Holding("the mail")]
    assert NOTHING_SHARED.holdings(NOTHING_PRIVATE, "ben") == []


def test_what_is_everybodys_is_not_private() -> None:
    assert not is_private(NOTHING_SHARED.holdings(READINGS, ""))
    assert is_private(Shares(readings=Circle.HOUSEHOLD).holdings(READINGS, ""))
    assert is_private(NOTHING_SHARED.holdings(households("x"), ""))
    assert PASSED_ON.taints


def test_one_private_part_makes_the_whole_private() -> None:
    assert is_private(SHARES.holdings(Disclosure(("menu/x",), ("anna",)), "ben"))
    assert not is_private(SHARES.holdings(Disclosure(("menu/x",), readings=True), "ben"))


def test_a_rehearsal_shows_no_readings_by_itself_and_leaves_private_ones_in_the_turn() -> None:
    kept_apart = Shares(readings=Circle.HOUSEHOLD)
    assert list(kept_apart.holdings(REHEARSED, "ben")) == []
    assert kept_apart.holds_private(REHEARSED, "ben")
    assert not SHARES.holds_private(REHEARSED, "ben")
    assert kept_apart.holds_private(PASSED_ON, "ben")
