import pytest
from hypothesis import given
from hypothesis import strategies as st
from vodozemac import Account

from agent.channels.matrix.encryption.signatures import canonical, is_signed, signed

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TOLD = st.dictionaries(TEXT, TEXT | st.integers() | st.none() | st.lists(TEXT, max_size=3))
ACCOUNT = Account()
KEY = ACCOUNT.ed25519_key.to_base64()


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ({}, "{}"),
        ({"one": 1, "two": "Two"}, '{"one":1,"two":"Two"}'),
        ({"b": "2", "a": "1"}, '{"a":"1","b":"2"}'),
        ({"本": 2, "日": 1}, '{"日":1,"本":2}'),
        ({"a": "日"}, '{"a":"日"}'),
        ({"a": None}, '{"a":null}'),
    ],
)
def test_json_is_written_as_the_specification_shows_it(
    told: dict[str, object], written: str
) -> None:
    assert canonical(told).decode() == written


@given(TOLD)
def test_what_is_signed_is_known_and_what_is_changed_is_not(told: dict[str, object]) -> None:
    done = signed({**told, "unsigned": {"age": 1}}, "@a:b", "DEV", ACCOUNT.sign)
    assert is_signed(done, "@a:b", "DEV", KEY)
    assert is_signed({**done, "unsigned": {}}, "@a:b", "DEV", KEY)
    assert not is_signed({**done, "more": 1}, "@a:b", "DEV", KEY)
    assert not is_signed(done, "@a:b", "OTHER", KEY)
    assert not is_signed(done, "@a:c", "DEV", KEY)
    assert not is_signed(done, "@a:b", "DEV", Account().ed25519_key.to_base64())


def test_a_second_signature_leaves_the_first() -> None:
    other = Account()
    done = signed(signed({"a": 1}, "@a:b", "ONE", ACCOUNT.sign), "@a:b", "TWO", other.sign)
    assert is_signed(done, "@a:b", "ONE", KEY)
    assert is_signed(done, "@a:b", "TWO", other.ed25519_key.to_base64())


@given(st.recursive(TEXT | st.integers(), lambda inner: st.dictionaries(TEXT, inner, max_size=3)))
def test_whatever_stands_for_a_signature_is_none(anything: object) -> None:
    assert not is_signed({"a": 1, "signatures": anything}, "@a:b", "DEV", KEY)
    assert not is_signed({"signatures": {"@a:b": {"ed25519:DEV": anything}}}, "@a:b", "DEV", KEY)
