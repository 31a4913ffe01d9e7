"""The Pis that one card starts on: what the kernel's tree of each one gives, and by which driver.

Held against the trees and modules of the kernel's own packages, at each build and in a test.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.peripherals.header import CHIPS
from image.lib import layout, recipe, trees

HEADER_BUS = "i2c1"
# By the word in a tree: what it gives, and the module that drives it
_DRIVERS = {
    "brcm,bcm2835-sdhost": ("card", "bcm2835"),
    "brcm,bcm2711-emmc2": ("card", "sdhci-iproc"),
    "brcm,bcm2712-sdhci": ("card", "sdhci-brcmstb"),
    "brcm,bcm4329-fmac": ("wifi", "brcmfmac"),
    "brcm,bcm2835-pm-wdt": ("watchdog", "bcm2835_wdt"),
    "brcm,bcm2835-usb": ("usb", "dwc2"),
    "brcm,bcm2711-pcie": ("usb", "pcie-brcmstb"),
    "snps,dwc3": ("usb", "dwc3"),
    "brcm,bcm2711-genet-v5": ("ethernet", "genet"),
    "raspberrypi,rp1-gem": ("ethernet", "macb"),
    "usb424,ec00": ("ethernet", "smsc95xx"),
    "usb424,7800": ("ethernet", "lan78xx"),
    "brcm,bcm2835-gpio": ("pins", "pinctrl-bcm2835"),
    "brcm,bcm2711-gpio": ("pins", "pinctrl-bcm2835"),
    "raspberrypi,rp1-gpio": ("pins", "pinctrl-rp1"),
    "brcm,bcm2837-thermal": ("heat", "bcm2835_thermal"),
    "brcm,bcm2711-thermal": ("heat", "bcm2711_thermal"),
    "gpio-keys": ("button", "gpio_keys"),
    "nxp,pcf85063a": ("clock", "rtc-pcf85063"),
}
_BUSES = {
    "brcm,bcm2835-i2c": "i2c-bcm2835",
    "snps,designware-i2c": "i2c-designware-platform",
}
# How the kernel numbers ports of a kind, by their alias
_PORTS = {"arm,pl011": "ttyAMA", "brcm,bcm2835-aux-uart": "ttyS"}
_ALWAYS = frozenset({"card", "wifi", "watchdog", "usb", "pins", "i2c"})


@dataclass(frozen=True, slots=True)
class Model:
    """One Pi, by its tree's file.

    Args:
        also: what its tree gives beyond what every Pi has. A kernel that gives more is told as
            well, so that the guide does not lag behind.
    """

    name: str
    tree: str
    also: frozenset[str]

    @property
    def gives(self) -> frozenset[str]:
        return _ALWAYS | self.also


def _model(name: str, tree: str, *also: str) -> Model:
    return Model(name, tree, frozenset(also))


MODELS = (
    _model("Zero 2 W", "bcm2837-rpi-zero-2-w", "heat"),
    _model("3 A+", "bcm2837-rpi-3-a-plus", "heat"),
    _model("3 B", "bcm2837-rpi-3-b", "heat", "ethernet"),
    _model("3 B+", "bcm2837-rpi-3-b-plus", "heat", "ethernet"),
    _model("4 B", "bcm2711-rpi-4-b", "heat", "ethernet"),
    _model("400", "bcm2711-rpi-400", "heat", "ethernet"),
    _model("CM4 on its board", "bcm2711-rpi-cm4-io", "heat", "ethernet", "clock"),
    # Its clock, its heat and the header's serial port are not in the kernel's tree
    _model("5", trees.PI_5, "ethernet", "button"),
    _model("5, second stepping", trees.PI_5_D0, "ethernet", "button"),
)


def problems(folder: Path, modules: Path) -> Iterator[str]:
    """Return what is wrong with the trees in a folder, after they were extended.

    Args:
        modules: the kernel's folder in usr/lib/modules.
    """
    built = {Path(line).stem for line in (modules / "modules.builtin").read_text().splitlines()}
    loaded = {path.name.partition(".")[0] for path in modules.rglob("*.ko*")}
    for model in MODELS:
        path = folder / f"{model.tree}.dtb"
        if not path.exists():
            yield f"{model.name}: {path.name} is missing"
            continue
        tree = trees.read(path.read_bytes())
        drivers = dict(given(tree))
        yield from (
            f"{model.name}: {what}" for what in _of_tree(model, tree, set(drivers.values()))
        )
        absent = {driver for driver in drivers if _other(driver) not in map(_other, built | loaded)}
        yield from (f"{model.name}: no driver {driver}" for driver in sorted(absent))


def given(tree: trees.Tree) -> Iterator[tuple[str, str]]:
    """Return each driver that a tree asks for, and what it gives."""
    bus = dict(trees.aliases(tree)).get(HEADER_BUS, "")
    for path, node in tree.items():
        for word in trees.texts(node, "compatible"):
            if word in _DRIVERS and trees.is_on(tree, path):
                what, driver = _DRIVERS[word]
                yield driver, what
            if word in _BUSES and path == bus and trees.is_on(tree, path):
                yield _BUSES[word], "i2c"


def console(tree: trees.Tree) -> str:
    """Return the kernel's name of the port that the tree talks on."""
    alias = trees.texts(tree.get("/chosen", {}), "stdout-path")[0].partition(":")[0]
    node = tree.get(dict(trees.aliases(tree)).get(alias, ""), {})
    kinds = [_PORTS[word] for word in trees.texts(node, "compatible") if word in _PORTS]
    return f"{kinds[0]}{alias.removeprefix('serial')}" if kinds else ""


def _of_tree(model: Model, tree: trees.Tree, gives: set[str]) -> Iterator[str]:
    yield from (f"the tree has no {what}" for what in sorted(model.gives - gives))
    yield from (f"the tree has {what}, and the table not" for what in sorted(gives - model.gives))
    if f"console={console(tree)}," not in layout.command_line("A"):
        yield f"the command line does not name the console {console(tree) or '(none)'}"
    words = {word for node in tree.values() for word in trees.texts(node, "compatible")}
    if not words & CHIPS.keys():
        yield "the agent does not know the chip of its pins"


def needed_early(ramdisk: bytes) -> Iterator[str]:
    """Return the modules of image/ramdisk-modules that an initial RAM disk has not.

    Modules are compressed already, so that Debian packs them as they are.
    """
    for name in recipe.packages(recipe.RAMDISK_MODULES.read_text()):
        if f"/{name}.ko".encode() not in ramdisk:
            yield name


def _other(name: str) -> str:
    """Return a module's name as the kernel compares it."""
    return name.replace("-", "_")
