import os
import tomllib
from pathlib import Path

import pytest

from agent.errors import ConfigRefused
from agent.provision import card


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_wiped_text_is_written_over_the_same_place(tmp_path: Path, end: str) -> None:
    path = tmp_path / card.NAME
    path.write_bytes(b"# \r\n" * bool(end == "\r\n") + f'token = "secret"{end}'.encode())
    place = path.stat().st_ino
    wiped = path.read_bytes().decode().replace("secret", "******")
    left = card.overwrite(path, path.read_bytes(), wiped)
    # The same file, so the same blocks: nothing of it was given away with the secret in it
    assert (path.stat().st_ino, path.read_bytes()) == (place, left)
    assert left.startswith(wiped.encode())
    assert tomllib.loads(left.decode()) == {"token": "******"}
    assert card.overwrite(path, left, left.decode()) == left


def test_an_erased_file_is_overwritten_before_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "network-config"
    path.write_text("password: secret")
    other_name = tmp_path / "other"
    os.link(path, other_name)
    card.erase(path)
    assert not path.exists()
    assert other_name.read_bytes() == bytes(16)


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    assert card.read(tmp_path / card.NAME) == b""


def test_a_folder_of_that_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / card.NAME).mkdir()
    with pytest.raises(ConfigRefused, match=r"barnacle\.toml: cannot be read"):
        card.read(tmp_path / card.NAME)
