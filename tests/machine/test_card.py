from pathlib import Path

import pytest

from agent.machine.card import Card, card
from agent.machine.kernel import Kernel
from tests.fakes.kernel import a_pi, write


def test_wear_is_that_of_the_more_worn_kind(tmp_path: Path) -> None:
    assert card(Kernel(a_pi(tmp_path))) == Card(20, "", (("mmcblk0p4", 3),))


def test_an_sd_card_tells_no_wear(tmp_path: Path) -> None:
    write(tmp_path, "sys/block/mmcblk0/device/type", "SD\n")
    assert card(Kernel(tmp_path)) == Card()


@pytest.mark.parametrize(
    ("text", "percent"), [("0x0b 0x01", 110), ("0x00 0x00", None), ("?", None), ("0xff", None)]
)
def test_only_steps_of_the_standard_count(tmp_path: Path, text: str, percent: int | None) -> None:
    write(tmp_path, "sys/block/mmcblk0/device/life_time", text)
    assert card(Kernel(tmp_path)).used_percent == percent


def test_spare_blocks_that_run_out_are_told(tmp_path: Path) -> None:
    write(tmp_path, "sys/block/mmcblk0/device/pre_eol_info", "0x03\n")
    assert card(Kernel(tmp_path)).reserve == "the spare blocks are used up"


def test_errors_are_summed_up(tmp_path: Path) -> None:
    for device, count in (("sda1", "0"), ("mmcblk0p2", "2"), ("mmcblk0p4", "5")):
        write(tmp_path, f"sys/fs/ext4/{device}/errors_count", count)
    found = card(Kernel(tmp_path))
    assert found.errors == (("mmcblk0p2", 2), ("mmcblk0p4", 5))
    assert found.error_count == 7
