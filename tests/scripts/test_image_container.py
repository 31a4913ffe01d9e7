"""The container for people without Debian has what the programs ask for."""

from image.lib import build
from image.lib.emulated import guest
from tests.structure.sources import ROOT


def test_it_installs_every_package_that_is_asked_for() -> None:
    text = (ROOT / "image/Dockerfile").read_text()
    _, _, told = text.replace("\\\n", " ").partition("--no-install-recommends ")
    installed = set(told.partition("\n")[0].split())
    wanted = {name for names in build.PROGRAMS.values() for name in names.split()}
    wanted |= {*guest.PROGRAMS.values(), guest.NETWORK_ROM_PACKAGE, "python3", "python3-venv"}
    assert wanted <= installed


def test_the_guide_names_every_package_too() -> None:
    text = (ROOT / "image/README.md").read_text()
    wanted = {name for names in build.PROGRAMS.values() for name in names.split()}
    wanted |= {*guest.PROGRAMS.values(), guest.NETWORK_ROM_PACKAGE}
    # What every Debian with systemd has is not named
    assert [name for name in wanted - {"systemd", "openssl"} if name not in text] == []
