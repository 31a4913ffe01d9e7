"""The configuration that scripts/run makes: the agent reads it, nobody's edit is lost."""

from pathlib import Path

import pytest

from agent.config import load
from agent.settings import Settings
from scripts.lib import configuration


@pytest.mark.parametrize("port", ["/run/board", "/my clone ü/board", '/a"b\\c/board'])
def test_the_agent_reads_the_offered_configuration(tmp_path: Path, port: str) -> None:
    path = tmp_path / "barnacle.toml"
    configuration.offer(path, Path(port))
    assert load(path, Settings).board.port == port
    assert configuration.means_port(path, Path(port))


def test_an_untouched_one_follows_a_checkout_that_moved(tmp_path: Path) -> None:
    path = tmp_path / "barnacle.toml"
    configuration.offer(path, Path("/before/board"))
    configuration.offer(path, Path("/after/board"))
    assert configuration.means_port(path, Path("/after/board"))


def test_an_edited_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "barnacle.toml"
    configuration.offer(path, Path("/before/board"))
    edited = path.read_text() + "\n[agent]\n"
    path.write_text(edited)
    configuration.offer(path, Path("/after/board"))
    assert path.read_text() == edited


@pytest.mark.parametrize("text", ["", "[board]", "board = 1", "[[board]]", "no toml", "\x00\udcff"])
def test_one_that_names_no_port_means_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "barnacle.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert not configuration.means_port(path, Path("/run/board"))


def test_an_absent_one_means_none(tmp_path: Path) -> None:
    assert not configuration.means_port(tmp_path / "absent.toml", Path("/run/board"))
