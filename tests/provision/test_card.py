import os
import tomllib
from pathlib import Path

import pytest

from agent.config import MAX_CONFIG_BYTES
from agent.errors import ConfigRefused
from agent.provision import card


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_wiped_text_is_written_over_the_same_place(tmp_path: Path, end: str) -> None:
    path = tmp_path / card.NAME
    path.write_bytes(b"# \r\n" * bool(end == "\r\n") + f'token = "secret"{end}'.encode())
    place = path.stat().st_ino
    wiped = path.read_bytes().decode().replace("secret", "******")
    left = card.without_secrets(path.read_bytes(), wiped)
    card.in_place(path, left)
    # The same file, so the same blocks: nothing of it was given away with the secret in it
    assert (path.stat().st_ino, path.read_bytes()) == (place, left)
    assert left.startswith(wiped.encode())
    assert tomllib.loads(left.decode()) == {"token": "******"}
    assert card.without_secrets(left, left.decode()) == left


def test_a_file_that_was_wiped_in_part_is_known_from_one_that_was_changed() -> None:
    clean = b'token = "******"\n# a note\n'
    assert card.is_half_wiped(b'token = "***ret"\n', clean)
    assert card.is_half_wiped(clean, clean)
    assert not card.is_half_wiped(b'token = "***ret" # new\n', clean)
    assert not card.is_half_wiped(clean + b"more\n", clean)


def test_an_erased_file_is_overwritten_before_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "network-config"
    path.write_text("password: secret")
    other_name = tmp_path / "other"
    os.link(path, other_name)
    card.erase(path)
    assert not path.exists()
    assert other_name.read_bytes() == bytes(16)


def test_no_more_is_read_than_of_every_configuration(tmp_path: Path) -> None:
    assert card.MAX_BYTES == MAX_CONFIG_BYTES
    (tmp_path / card.NAME).write_bytes(bytes(MAX_CONFIG_BYTES + 1))
    with pytest.raises(ConfigRefused, match="is longer than"):
        card.read(tmp_path / card.NAME)


def test_no_file_is_an_empty_one(tmp_path: Path) -> None:
    assert card.read(tmp_path / card.NAME) == b""


def test_a_folder_of_that_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / card.NAME).mkdir()
    with pytest.raises(ConfigRefused, match=r"barnacle\.toml: cannot read it"):
        card.read(tmp_path / card.NAME)
