"""The recipe of the card's image: what can be known without building it."""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest

from image.lib import check, layout, ramdisk, recipe
from scripts.lib import locks

GOOD = "systemd\nlinux-image-arm64\nraspi-firmware\npython3\ne2fsprogs\ntzdata-legacy\n"


def test_the_recipe_has_no_problem() -> None:
    assert list(check.problems()) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (GOOD + "less\nless # again\n", "packages: less twice"),
        (GOOD + "two words\n", "packages: 'two words' is no name"),
        (GOOD.replace("e2fsprogs", ""), "packages: e2fsprogs is missing"),
        (GOOD.replace("tzdata-legacy", "tzdata"), "packages: tzdata-legacy is missing"),
    ],
)
def test_a_bad_package_list_is_named(text: str, problem: str) -> None:
    assert list(check.of_packages(text)) == [problem]


def test_a_partition_over_another_is_named() -> None:
    moved = dataclasses.replace(layout.SYSTEM_A, start_mib=layout.SYSTEM_A.start_mib - 2)
    partitions = (layout.FIRMWARE, moved, layout.SYSTEM_B, layout.DATA)
    assert list(check.of_layout(partitions)) == [
        "layout: system-a overlaps what is before it",
        "layout: system-a starts in the middle of an erase block",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#!/bin/sh\nif true\n", "script: "),
        ("see https://deb.deb" + "ian.org/x\n", "script:1: an archive's or a registry's host"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "script"
    path.write_text(text)
    [found] = check.of_file(path)
    assert found.startswith(problem)


def test_sfdisk_makes_the_table_that_was_meant(tmp_path: Path) -> None:
    card = tmp_path / "card"
    with card.open("wb") as file:
        file.truncate(layout.IMAGE_BYTES)
    if not Path("/usr/sbin/sfdisk").exists():
        pytest.skip("no sfdisk here (package fdisk)")
    command = ["/usr/sbin/sfdisk", "--quiet", "--no-reread", "--no-tell-kernel", card]
    subprocess.run(command, input=layout.sfdisk_script(), text=True, check=True)
    table = card.read_bytes()[440 : 440 + 4 + 2 + 4 * 16]
    assert int.from_bytes(table[:4], "little") == layout.DISK_ID
    entries = [table[6 + 16 * index :][:16] for index in range(4)]
    assert [int.from_bytes(entry[8:12], "little") * layout.SECTOR for entry in entries] == [
        one.start_bytes for one in layout.PARTITIONS
    ]
    assert [int.from_bytes(entry[12:16], "little") * layout.SECTOR for entry in entries] == [
        one.size_bytes for one in layout.PARTITIONS
    ]


def test_each_slot_starts_its_own_system() -> None:
    assert layout.SYSTEM_A.partuuid in layout.command_line("A")
    assert layout.SYSTEM_B.partuuid in layout.command_line("B")
    assert "\nos_prefix=B/\n" in layout.config_txt("B")


def test_another_list_or_date_is_another_base() -> None:
    key = recipe.base_key(GOOD, "2026-01-01")
    assert recipe.base_key(f"# a remark\n{GOOD}", "2026-01-01") == key
    assert recipe.base_key(f"{GOOD}less\n", "2026-01-01") != key
    assert recipe.base_key(GOOD, "2026-01-02") != key


def test_the_ram_disks_addition_is_read_by_cpio() -> None:
    if not shutil.which("cpio"):
        pytest.skip("no cpio here (package cpio)")
    added = ramdisk.with_data_partition(b"")
    listed = subprocess.run(["cpio", "-it"], input=added, capture_output=True, check=True)
    assert listed.stdout.decode().split() == [
        "scripts/local-premount",
        "scripts/local-premount/ORDER",
        "scripts/local-premount/first-turn",
        "scripts/local-bottom",
        "scripts/local-bottom/ORDER",
        "scripts/local-bottom/data-partition",
    ]
    assert layout.DATA.partuuid.encode() in added
    assert b"@DATA@" not in added


def test_a_package_without_a_wheel_leaves_the_lock_with_its_hashes() -> None:
    lock = "idna==3 \\\n    --hash=sha256:aa\nlgpio==1 ; x \\\n    --hash=sha256:bb\nmcp==2\n"
    assert locks.without(lock, frozenset({"lgpio"})) == (
        "idna==3 \\\n    --hash=sha256:aa\nmcp==2\n"
    )


def test_what_is_encrypted_on_the_card_is_handed_over_by_import_alone() -> None:
    settings = recipe.IMAGE / "overlay/usr/lib/systemd/system/barnacle.service.d/image.conf"
    assert "LoadCredential=" in settings.read_text().splitlines()
