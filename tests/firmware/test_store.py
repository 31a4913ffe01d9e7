"""What the board keeps over a restart, under CPython in a folder."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
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


def test_what_was_being_written_when_the_power_failed_is_told(make: Any, tmp_path: Path) -> None:
    store = make()
    assert not store.is_torn()
    for text in (b"one", b"two"):
        store.save(text)
    assert not make().is_torn()
    (tmp_path / "kept_b.bin").write_bytes(b"\xff" * 512)
    assert make().is_torn()
    assert make().load() == b"one"


class BlockDevice:
    """Flash in blocks of 512 bytes, formatted as scripts/flash does it; counts what is asked."""

    def __init__(self, blocks: int = 128) -> None:
        self.blocks = [bytes(512)] * blocks
        self.blocks[0] = (
            b"\xeb\xfe\x90BARNACLE" + bytes(8) + (96).to_bytes(2, "little") + bytes(491)
        )
        self.syncs = 0

    def readblocks(self, block: int, buffer: bytearray) -> None:
        count = len(buffer) // 512
        buffer[:] = b"".join(self.blocks[block : block + count])

    def writeblocks(self, block: int, buffer: bytes) -> None:
        assert block >= 96
        for at in range(len(buffer) // 512):
            self.blocks[block + at] = bytes(buffer[at * 512 : at * 512 + 512])

    def ioctl(self, operation: int, _argument: int) -> int:
        self.syncs += operation == 3
        return 0


@pytest.fixture
def device() -> BlockDevice:
    return BlockDevice()


@pytest.fixture
def in_blocks(
    device: BlockDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    pyb: Any = ModuleType("pyb")
    pyb.Flash = lambda **_where: device
    with node_module("store", pyb=pyb) as module:
        yield lambda name: module.Store(1, name)
    assert list(tmp_path.iterdir()) == []


def test_each_text_has_blocks_of_its_own_behind_the_file_system(in_blocks: Any) -> None:
    texts = {"stop": b"stopped", "configuration": bytes(range(256)) * 16, "reflexes": b"r" * 1000}
    for turn in range(3):
        for name, text in texts.items():
            in_blocks(name).save(text[turn:])
    for name, text in texts.items():
        assert in_blocks(name).load() == text[2:]
        assert not in_blocks(name).is_torn()


def test_a_save_is_written_to_flash_once(in_blocks: Any, device: BlockDevice) -> None:
    in_blocks("configuration").save(b"text" * 900)
    assert device.syncs == 1


def test_a_text_that_is_too_long_is_refused_and_changes_nothing(
    in_blocks: Any, device: BlockDevice
) -> None:
    in_blocks("stop").save(b"stopped")
    before = list(device.blocks)
    with pytest.raises(OSError, match="28"):
        in_blocks("stop").save(bytes(500))
    assert device.blocks == before


def test_an_erased_sector_was_being_written(in_blocks: Any, device: BlockDevice) -> None:
    assert not in_blocks("stop").is_torn()
    device.blocks[96:] = [b"\xff" * 512] * 32
    store = in_blocks("stop")
    assert store.load() == b""
    assert store.is_damaged
    assert store.is_torn()
    for _ in range(2):
        store.save(b"")
    assert not in_blocks("stop").is_torn()


def test_blocks_of_another_file_system_are_left_alone(
    device: BlockDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    device.blocks[0] = bytes(512)
    pyb: Any = ModuleType("pyb")
    pyb.Flash = lambda **_where: device
    with node_module("store", pyb=pyb) as module:
        module.Store(1, "stop").save(b"stopped")
        assert module.Store(1, "stop").load() == b"stopped"
    assert device.blocks[1:] == [bytes(512)] * 127


@pytest.fixture
def in_sectors(
    device: BlockDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    boot = bytearray(device.blocks[0])
    boot[62:68] = bytes((96, 0, 32, 0, 1, 0))
    device.blocks = [bytes(boot)] + [bytes(512)] * 191
    pyb: Any = ModuleType("pyb")
    pyb.Flash = lambda **_where: device
    with node_module("store", pyb=pyb) as module:
        yield lambda name: module.Store(1, name)


def sector(device: BlockDevice, place: int) -> list[bytes]:
    return device.blocks[96 + 32 * place : 128 + 32 * place]


def test_a_sector_that_is_written_has_all_texts(in_sectors: Any, device: BlockDevice) -> None:
    for text in (b"one", b"two"):
        in_sectors("reflexes").save(text)
    in_sectors("stop").save(b"stopped")
    # Whichever sector is lost: the other one has what was there before
    for place in range(2):
        whole = list(device.blocks)
        device.blocks[96 + 32 * place : 128 + 32 * place] = [b"\xff" * 512] * 32
        assert in_sectors("reflexes").load() == b"two"
        assert in_sectors("stop").load() == (b"" if place == 0 else b"stopped")[:7]
        device.blocks = whole


def test_a_sector_without_its_last_block_counts_as_nothing(
    in_sectors: Any, device: BlockDevice
) -> None:
    for text in (b"one", b"two"):
        in_sectors("configuration").save(text)
    device.blocks[96 + 32 + 31] = b"\xff" * 512
    store = in_sectors("configuration")
    assert store.load() == b"one"
    assert store.is_torn()
    # And what another text's save makes of it is not what was cut
    in_sectors("stop").save(b"")
    assert in_sectors("configuration").load() == b"one"
    assert not in_sectors("configuration").is_torn()


def test_a_save_into_sectors_is_one_erase(in_sectors: Any, device: BlockDevice) -> None:
    in_sectors("configuration").save(b"text" * 900)
    before = sector(device, 0)
    syncs = device.syncs
    in_sectors("reflexes").save(b"rules")
    assert device.syncs == syncs + 1
    assert sector(device, 0) == before
