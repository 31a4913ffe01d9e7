import tomllib

from hypothesis import given
from hypothesis import strategies as st

from agent.provision.toml_text import dumps

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLAIN = st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT | st.floats(allow_nan=False)
VALUE = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(TEXT, VALUE, max_size=5))
def test_what_is_written_is_read_back(table: dict[str, object]) -> None:
    assert tomllib.loads(dumps(table)) == table


def test_it_is_written_as_a_person_would() -> None:
    table: dict[str, object] = {
        "board": {"port": "/dev/ttyACM0", "pins": {"pump": {"pin": "PB0", "max_on_s": 30}}},
        "channels": {"telegram": {}},
    }
    assert dumps(table) == (
        '[board]\nport = "/dev/ttyACM0"\n\n[board.pins.pump]\npin = "PB0"\nmax_on_s = 30\n\n'
        "[channels.telegram]\n"
    )
