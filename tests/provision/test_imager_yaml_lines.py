import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ConfigRefused
from agent.provision.imager import MAX_DEPTH, parse


def test_tables_lists_and_texts() -> None:
    text = (
        "a: 1\n\"b c\": 'it''s'\n# remark\nlist:\n- x\n-  name: y\n   deep:\n     - z\nempty:\n"
        'colon: "a: b"\nblock: |\n  line: one\n    two\nlast: http://example.org/#x\n'
    )
    assert parse(text, "f") == {
        "a": "1",
        "b c": "it's",
        "list": ["x", {"name": "y", "deep": ["z"]}],
        "empty": "",
        "colon": "a: b",
        "block": "",
        "last": "http://example.org/#x",
    }


def test_nothing_is_an_empty_table() -> None:
    assert parse("#cloud-config\n\n", "f") == {}


@pytest.mark.parametrize("text", ["a: &x 1\n", "a: !!python/object:os.system\n", "  a: 1\n b: 2\n"])
def test_the_rest_of_yaml_is_refused(text: str) -> None:
    with pytest.raises(ConfigRefused, match=r"f: line \d+: not written by Raspberry Pi Imager"):
        parse(text, "f")


def test_no_depth_is_too_much_for_it() -> None:
    deep = "".join(f"{' ' * level}a:\n" for level in range(MAX_DEPTH * 100))
    with pytest.raises(ConfigRefused):
        parse(deep, "f")
    with pytest.raises(ConfigRefused):
        parse("- " * 1000 + "a: b\n", "f")


@given(st.text(alphabet=" \t\n-:'\"#|ab[]{}&*\\", max_size=60) | st.text(max_size=60))
def test_every_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigRefused):
        assert isinstance(parse(text, "f"), dict)
