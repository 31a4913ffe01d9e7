from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.channels.matrix.encryption import devices
from agent.channels.matrix.encryption.own_device import device_keys
from tests.channels.matrix.encryption.conftest import Parties

TEXT = st.text(max_size=6) | st.sampled_from(["DEVICE", "@anna:x", "ed25519:DEVICE", "\ud800"])
ANYTHING = st.recursive(
    TEXT | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


def test_a_device_says_itself_what_its_keys_are(party: Parties) -> None:
    us, anna = party("@us:x"), party("@anna:x")
    us.knows(anna)
    assert devices.devices_of(us.shelf, ["@anna:x"]) == [anna.device]
    assert devices.device_with(us.shelf, "@anna:x", anna.us.curve) == anna.device


def test_keys_that_are_not_signed_or_not_for_it_are_left_out(party: Parties) -> None:
    us, anna, eve = party("@us:x"), party("@anna:x"), party("@eve:x")
    told: dict[str, Any] = device_keys(anna.shelf, anna.us)
    stranger = {"keys": {**told["keys"], "curve25519:DEVICE": eve.us.curve}}
    for wrong in (
        {"DEVICE": {**told, **stranger}},
        {"OTHER": told},
        {"DEVICE": device_keys(eve.shelf, eve.us)},
        {"DEVICE": {**told, "signatures": {}}},
    ):
        devices.found(us.shelf, "@anna:x", wrong, 1)
        assert devices.devices_of(us.shelf, ["@anna:x"]) == []


def test_the_keys_that_were_seen_first_stay(party: Parties) -> None:
    us, anna, other = party("@us:x"), party("@anna:x"), party("@anna:x")
    us.knows(anna)
    us.knows(other)
    assert devices.devices_of(us.shelf, ["@anna:x"]) == []
    us.knows(anna)
    assert devices.devices_of(us.shelf, ["@anna:x"]) == [anna.device]


def test_a_device_that_is_gone_is_known_and_told_nothing(party: Parties) -> None:
    us, anna = party("@us:x"), party("@anna:x")
    us.knows(anna)
    devices.found(us.shelf, "@anna:x", {}, 1)
    assert devices.devices_of(us.shelf, ["@anna:x"]) == []
    assert devices.device_with(us.shelf, "@anna:x", anna.us.curve) == anna.device


def test_what_changes_while_the_server_is_asked_is_asked_again(party: Parties) -> None:
    us = party("@us:x")
    asked = devices.track(us.shelf, ["@anna:x"])
    devices.changed(us.shelf, ["@anna:x", "@stranger:x"])
    devices.found(us.shelf, "@anna:x", {}, asked["@anna:x"])
    again = devices.track(us.shelf, ["@anna:x"])
    assert list(again) == ["@anna:x"]
    devices.found(us.shelf, "@anna:x", {}, again["@anna:x"])
    assert devices.track(us.shelf, ["@anna:x"]) == {}
    devices.all_changed(us.shelf)
    assert list(devices.track(us.shelf, ["@anna:x"])) == ["@anna:x"]


def test_whatever_the_server_says_of_devices_is_none(party: Parties) -> None:
    us = party("@us:x")

    @given(told=ANYTHING)
    def says(told: object) -> None:
        for said in (told, {"DEVICE": told}, {"DEVICE": {"user_id": "@anna:x", "keys": told}}):
            devices.found(us.shelf, "@anna:x", said, 1)
        assert devices.devices_of(us.shelf, ["@anna:x"]) == []

    says()
