"""What the board keeps over a restart, under CPython in a folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.firmware.node_on_cpython import node_module


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    with node_module("store") as module:
        yield lambda flash_class=1: module.Store(flash_class, "kept")


def test_the_last_text_is_found_after_a_start(make: Any) -> None:
    for text in (b"first", b"second", b"", b"fourth"):
        make().save(text)
        assert make().load() == text


def test_a_save_that_is_cut_anywhere_leaves_the_old_text(make: Any, tmp_path: Path) -> None:
    make().save(b"old")
    make().save(b"new one")
    newest = tmp_path / "kept_b.bin"
    whole = newest.read_bytes()
    for length in range(len(whole)):
        newest.write_bytes(whole[:length])
        store = make()
        assert store.load() == b"old"
        assert not store.is_damaged
    newest.write_bytes(whole)
    assert make().load() == b"new one"


def test_a_cut_save_is_not_what_the_next_one_builds_upon(make: Any, tmp_path: Path) -> None:
    for text in (b"one", b"two"):
        make().save(text)
    (tmp_path / "kept_b.bin").write_bytes(b"torn")
    make().save(b"three")
    assert (tmp_path / "kept_a.bin").read_bytes().endswith(b"one")
    assert make().load() == b"three"


def test_damage_is_told_only_where_nothing_is_whole(make: Any, tmp_path: Path) -> None:
    store = make()
    assert store.load() == b""
    assert not store.is_damaged
    store.save(b"text")
    (tmp_path / "kept_a.bin").write_bytes(b"torn")
    assert store.load() == b""
    assert store.is_damaged


def test_a_save_reads_nothing_when_the_text_was_loaded(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    make().save(b"before")
    store = make()
    store.load()
    opened: list[str] = []
    monkeypatch.setattr("builtins.open", _noting(opened))
    store.save(b"after")
    assert opened == ["wb"]


def test_a_board_without_flash_for_it_keeps_the_text_in_memory(make: Any, tmp_path: Path) -> None:
    store = make(0)
    store.save(bytearray(b"text"))
    assert store.load() == b"text"
    assert list(tmp_path.iterdir()) == []


def _noting(opened: list[str]) -> Any:
    really = open

    def noted(path: str, mode: str) -> Any:
        opened.append(mode)
        return really(path, mode)

    return noted
