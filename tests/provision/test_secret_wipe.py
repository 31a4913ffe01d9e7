import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.provision.secret_wipe import starred, wiped
from agent.provision.settings import CardSettings

SECRET = "correct horse battery"


def _wifi(written: str) -> str:
    return f'[wifi]\nssid = "Home"\npassword = {written}\n'


@pytest.mark.parametrize(
    "written",
    [
        f'"{SECRET}"',
        f"'{SECRET}'",
        f'"""{SECRET}"""',
        f"'''{SECRET}'''",
        '"\\u0063orrect horse battery"',
        f'"{SECRET}" # was "{SECRET}" before, and {SECRET}',
    ],
)
def test_a_secret_is_wiped_however_it_is_written(written: str) -> None:
    text = _wifi(written)
    left = wiped(text, CardSettings)
    assert len(left.encode()) == len(text.encode())
    assert SECRET not in left
    assert "orrect" not in left
    assert set(tomllib.loads(left)["wifi"]["password"]) == {"*"}


def test_inline_tables_dotted_keys_and_lists_are_wiped() -> None:
    text = (
        'provider = {kind = "openai", api_key = "first-secret", more_keys = ["second-secret"]}\n'
        'channels.telegram.token = "third-secret"\n'
        '[mcp.weather]\ncommand = ["/bin/weather"]\nenv = {WEATHER_TOKEN = "fourth-secret"}\n'
    )
    left = wiped(text, CardSettings)
    assert "secret" not in left
    assert len(left) == len(text)
    assert tomllib.loads(left)["mcp"]["weather"]["command"] == ["/bin/weather"]


def test_a_network_that_is_called_like_its_password_keeps_its_name() -> None:
    text = f'[wifi]\nssid = "password"\npassword = "password"\n# "{"x" * 3}\n'
    assert wiped(text, CardSettings) == text.replace('= "password"\n#', '= "********"\n#')


def test_what_was_wiped_is_left_alone() -> None:
    text = _wifi('"*********************"')
    assert wiped(text, CardSettings) == text


def test_a_text_without_secrets_is_left_alone() -> None:
    text = "# don't \"touch\" [this]\n[agent]\nname = 'Rosa'\n"
    assert wiped(text, CardSettings) == text


@given(
    st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]), min_size=3),
    st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"]), max_size=20),
)
def test_nothing_of_a_secret_is_left_whatever_it_holds(secret: str, beside: str) -> None:
    text = f"# {beside} {secret}\na = {json.dumps(secret, ensure_ascii=False)}\nb = 5\n"
    left = starred(text, [("a",)])
    assert len(left.encode()) == len(text.encode())
    table = tomllib.loads(left)
    assert set(table["a"]) == {"*"}
    assert table["b"] == 5
    assert secret in "*" * len(text) or secret not in left.replace(beside, "")
