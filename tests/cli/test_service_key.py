from pathlib import Path

import pytest

from agent.cli.service import take_key
from agent.errors import ConfigRefused


def test_a_key_that_systemd_hands_over_is_taken(tmp_path: Path) -> None:
    (tmp_path / "api_key").write_text("sk-canary\n")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    take_key(environ)
    assert environ["BARNACLE_API_KEY"] == "sk-canary"


def test_the_environment_goes_before_it(tmp_path: Path) -> None:
    (tmp_path / "api_key").write_text("sk-canary")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path), "BARNACLE_API_KEY": "mine"}
    take_key(environ)
    assert environ["BARNACLE_API_KEY"] == "mine"


def test_without_one_nothing_is_set(tmp_path: Path) -> None:
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    take_key(environ)
    take_key(none := {})
    assert (list(environ), none) == (["CREDENTIALS_DIRECTORY"], {})


def test_one_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "api_key").mkdir()
    with pytest.raises(ConfigRefused, match=r"cannot read .*api_key"):
        take_key({"CREDENTIALS_DIRECTORY": str(tmp_path)})
