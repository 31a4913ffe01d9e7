from pathlib import Path

import pytest

from agent.backup.encryption import make_key
from agent.config import decode
from agent.errors import ConfigRefused
from agent.settings import Settings


def read(text: str) -> Settings:
    return decode(text, Settings, Path("x.toml"))


def test_a_key_or_a_passphrase_makes_backups_wanted() -> None:
    wanted = read(f'[backup]\nrecipients = ["{make_key()[1]}"]\n').backup
    assert wanted is not None
    assert wanted.is_wanted
    assert read("").backup is None
    nobody = read("[backup]\nkeep = 3\n").backup
    assert nobody is not None
    assert not nobody.is_wanted


@pytest.mark.parametrize(
    "line",
    ['at = "25:00"', 'recipients = ["AGE-SECRET-KEY-1"]', "keep = 0", 'at = "3:30"'],
)
def test_a_mistake_is_refused_by_name(line: str) -> None:
    with pytest.raises(ConfigRefused, match=r"`backup\."):
        read(f"[backup]\n{line}\n")


def test_both_are_one_too_many() -> None:
    with pytest.raises(ConfigRefused, match="one too many"):
        read(f'[backup]\nrecipients = ["{make_key()[1]}"]\npassphrase_file = "/x"\n')
