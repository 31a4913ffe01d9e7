"""On a real FAT file system, in a file."""

import shutil
import subprocess
from pathlib import Path

import pytest

from agent.provision import secret_wipe
from agent.provision.secret_wipe import sweep, system_files

SECRET = "correct horse battery"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = ("mkfs.vfat", "fsck.vfat", "mcopy", "mdel", "mlabel", "mmd", "mtype")


def _run(*words: object) -> bytes:
    environment = {"PATH": PATH, "MTOOLS_SKIP_CHECK": "1"}
    command = [*map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, env=environment).stdout


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    if missing := [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]:
        pytest.skip(f"no {', '.join(missing)} here (packages dosfstools and mtools)")
    made = tmp_path / "firmware.vfat"
    with made.open("wb") as file:
        file.truncate(40 * 1024 * 1024)
    _run("mkfs.vfat", "-F", "32", made)
    return made


def _put(partition: Path, name: str, text: str) -> None:
    source = partition.with_name(name)
    source.write_text(text)
    _run("mcopy", "-o", "-i", partition, source, f"::/{name}")


def test_what_editors_left_behind_is_wiped(partition: Path) -> None:
    for number in range(3):
        _put(partition, f"draft{number}.txt", f"{'x' * 5000 * number}password = {SECRET}\n")
        _run("mdel", "-i", partition, f"::/draft{number}.txt")
        _put(partition, f"between{number}.txt", f"{number}" * 9000)
    _put(partition, "config.txt", "os_prefix=A/\n")
    assert SECRET.encode() in partition.read_bytes()
    assert sweep(partition, [SECRET, "never written"]) >= 1
    assert SECRET.encode() not in partition.read_bytes()
    assert _run("mtype", "-i", partition, "::/config.txt") == b"os_prefix=A/\n"
    _run("fsck.vfat", "-n", partition)
    assert sweep(partition, [SECRET]) == 0


def test_a_secret_across_two_pieces_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_wipe, "_CHUNK_BYTES", 64)
    place = tmp_path / "partition"
    for start in range(40, 70):
        place.write_bytes(b"." * start + SECRET.encode() + b"." * 200)
        assert sweep(place, [SECRET, "x" * 30]) == 1
        assert place.read_bytes() == b"." * start + b"*" * len(SECRET) + b"." * 200


def test_what_is_too_short_to_be_told_from_other_things_is_left(tmp_path: Path) -> None:
    place = tmp_path / "partition"
    place.write_bytes(b"FAT32   and a fat cat")
    assert sweep(place, ["FAT32"]) == 0
    assert place.read_bytes() == b"FAT32   and a fat cat"


def test_what_the_pi_starts_from_is_known_among_what_a_person_has_put_there(tmp_path: Path) -> None:
    system = {"A/cmdline.txt", "B/bcm2711-rpi-4-b.dtb", "overlays/x.dtbo", "config.txt"}
    system |= {"start4.elf", "bootcode.bin", "fixup4.dat"}
    for name in (*system, "barnacle.toml.bak", "draft.txt", "B/folder/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert {str(path.relative_to(tmp_path)) for path in system_files(tmp_path)} == system


def test_a_secret_that_is_a_word_of_the_system_is_left(tmp_path: Path) -> None:
    tree, empty, place = tmp_path / "x.dtb", tmp_path / "empty.dtb", tmp_path / "partition"
    tree.write_bytes(b"raspberrypi,4-model-b")
    empty.touch()
    place.write_bytes(b"raspberrypi,4-model-b, my raspberry, " + SECRET.encode())
    assert sweep(place, ["raspberry", SECRET, "x" * 30], (empty, tree)) == 1
    assert place.read_bytes() == b"raspberrypi,4-model-b, my raspberry, " + b"*" * len(SECRET)


@pytest.mark.parametrize("secret", ["BOOTCODE", "BOOTCODEBIN", "OVERLAYS", "BARNACLE"])
def test_a_secret_that_is_a_name_of_the_system_is_left(
    partition: Path, tmp_path: Path, secret: str
) -> None:
    _run("mlabel", "-i", partition, "::BARNACLE")
    (tmp_path / "overlays").mkdir()
    system = [tmp_path / "bootcode.bin", tmp_path / "overlays" / "disable-bt.dtbo"]
    _run("mmd", "-i", partition, "::/overlays")
    for path in system:
        path.touch()
        _run("mcopy", "-i", partition, path, f"::/{path.relative_to(tmp_path)}")
    before = partition.read_bytes()
    assert secret.encode() in before
    assert sweep(partition, [secret, SECRET], system) == 0
    assert partition.read_bytes() == before
