from pathlib import Path

import pytest

from agent.blank.boot_loader import BootLoader, boot_loaders, writable_spans
from agent.blank.dfu import Element


def plug(folder: Path, name: str, vendor: str, product: str) -> None:
    (folder / name).mkdir()
    (folder / name / "idVendor").write_text(f"{vendor}\n")
    (folder / name / "idProduct").write_text(f"{product}\n")


def test_of_all_devices_only_boot_loaders_are_found(tmp_path: Path) -> None:
    plug(tmp_path, "usb1", "1d6b", "0002")
    plug(tmp_path, "1-1", "0483", "5740")
    plug(tmp_path, "1-1.4", "0483", "df11")
    plug(tmp_path, "1-2", "f055", "df11")
    assert [one.port for one in boot_loaders(tmp_path)] == ["1-1.4"]
    assert boot_loaders(tmp_path / "none") == ()


@pytest.mark.parametrize(
    ("layout", "spans"),
    [
        (
            "@Internal Flash  /0x08000000/04*016Kg,01*064Kg,03*128Kg",
            ((0x08000000, 0x08080000),),
        ),
        # Sectors that can only be read end what may be written
        ("@Internal Flash   /0x08000000/2*16Ka,2*016Kg", ((0x08000000, 0x08000000),)),
        ("@Internal Flash  /0x08000000/256*0001Mg", ((0x08000000, 0x18000000),)),
        (
            "@Internal Flash  /0x08000000/8*08Kg/0x08100000/8*08Kg",
            ((0x08000000, 0x08010000), (0x08100000, 0x08110000)),
        ),
        ("@Option Bytes  /0x1FFFC000/01*016 e", ()),
        ("@Internal Flash  /nonsense/04*016Kg", ()),
        ("", ()),
    ],
)
def test_the_flash_that_may_be_written_is_read_from_its_name(
    layout: str, spans: tuple[tuple[int, int], ...]
) -> None:
    assert writable_spans(layout) == spans


def test_a_piece_must_lie_in_flash_as_a_whole() -> None:
    loader = BootLoader("1-1", "1-1 2", "@Internal Flash  /0x08000000/02*016Kg")
    last = 0x08000000 + 32 * 1024
    assert loader.has_room((Element(last - 4, b"1234"),))
    assert not loader.has_room((Element(last - 3, b"1234"),))
    assert not loader.has_room((Element(0x07FFFFFF, b"12"),))
    # Who does not say what it has is not refused: dfu-util itself looks
    assert BootLoader("1-1", "1-1 2").has_room((Element(0, b"1234"),))
