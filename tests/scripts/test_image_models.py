"""Each Pi's device tree, from the kernel's own package, against what card and agent name."""

import shutil
import struct
from pathlib import Path

import pytest

from agent.peripherals.header import CHIPS
from image.lib import layout, models, trees
from image.lib.models import MODELS, Model

KERNEL = Path(__file__).resolve().parents[2] / ".barnacle/kernel-trees"
pytestmark = pytest.mark.skipif(
    not (KERNEL / "modules.builtin").exists(),
    reason="the kernel's trees are not there: scripts/test fetches them",
)
needs_compiler = pytest.mark.skipif(
    not shutil.which("fdtoverlay"), reason="no fdtoverlay here (package device-tree-compiler)"
)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trees as the card has them."""
    folder = tmp_path_factory.mktemp("trees")
    for model in MODELS:
        name = f"{model.tree}.dtb"
        trees.extend(KERNEL / "dtb/broadcom" / name, folder / name, folder)
    return folder


def tree_of(folder: Path, model: Model) -> trees.Tree:
    return trees.read((folder / f"{model.tree}.dtb").read_bytes())


@needs_compiler
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_model_has_what_the_card_names(extended: Path, model: Model) -> None:
    tree = tree_of(extended, model)
    assert {what for _, what in models.given(tree)} == model.gives
    # The agent's default bus is 1, which is the header's here, on GPIO 2 and 3
    bus = dict(trees.aliases(tree))["i2c1"]
    assert trees.is_on(tree, bus)
    assert f"console={models.console(tree)},115200" in layout.command_line("A").split()
    words = {word for node in tree.values() for word in trees.texts(node, "compatible")}
    assert len(words & CHIPS.keys()) == 1


@needs_compiler
def test_every_driver_is_in_the_kernel(extended: Path) -> None:
    assert list(models.problems(extended, KERNEL)) == []


@needs_compiler
def test_a_lost_tree_and_a_lost_driver_are_named(extended: Path, tmp_path: Path) -> None:
    folder, modules = tmp_path / "trees", tmp_path / "modules"
    shutil.copytree(extended, folder)
    shutil.copytree(KERNEL, modules)
    (folder / "bcm2711-rpi-400.dtb").unlink()
    [driver] = modules.rglob("pinctrl-rp1.ko*")
    driver.unlink()
    assert list(models.problems(folder, modules)) == [
        "400: bcm2711-rpi-400.dtb is missing",
        "5: no driver pinctrl-rp1",
        "5, second stepping: no driver pinctrl-rp1",
    ]


@needs_compiler
def test_as_debian_ships_it_a_pi_5_has_no_bus_on_its_header(tmp_path: Path) -> None:
    shutil.copytree(KERNEL / "dtb/broadcom", tmp_path / "trees")
    said = list(models.problems(tmp_path / "trees", KERNEL))
    assert "5: the tree has no i2c" in said


@needs_compiler
def test_the_boot_loaders_overlay_makes_the_newer_stepping(extended: Path, tmp_path: Path) -> None:
    overlay, made = tmp_path / trees.STEPPING_OVERLAY, tmp_path / "made.dtb"
    trees.write_stepping(extended, overlay, tmp_path)
    newer = trees.read((extended / f"{trees.PI_5_D0}.dtb").read_bytes())
    # Whichever of the two the boot loader has chosen
    for name in (trees.PI_5, trees.PI_5_D0):
        trees.apply(extended / f"{name}.dtb", overlay, made)
        assert trees.read(made.read_bytes()) == newer


def test_what_is_no_tree_is_refused() -> None:
    with pytest.raises(trees.TreeRefused):
        trees.read(b"MZ" + bytes(100))
    with pytest.raises(trees.TreeRefused, match="breaks off"):
        trees.read(struct.pack(">10I", 0xD00DFEED, 44, 40, 44, 40, 17, 16, 0, 0, 4) + b"\0\0\0\7")


def test_an_overlay_takes_nothing_away() -> None:
    with pytest.raises(trees.TreeRefused, match="lost"):
        trees.difference({"/": {"model": b"a\0"}}, {"/": {}})
    with pytest.raises(trees.TreeRefused, match="nodes differ"):
        trees.difference({"/": {}, "/x": {}}, {"/": {}})
