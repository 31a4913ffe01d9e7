"""The hardware report: what it names of a Pi 5, and what it leaves out."""

from pathlib import Path

import pytest

from agent.machine import hardware_form
from agent.machine.hardware_form import form
from agent.machine.readings import Readings

# A Pi 5 with Debian's kernel, as its files say it, and what must stay in the house
FILES = {
    "proc/device-tree/model": "Raspberry Pi 5 Model B Rev 1.1\0",
    "proc/device-tree/compatible": "raspberrypi,5-model-b\0brcm,bcm2712\0",
    "proc/device-tree/serial-number": "10000000deadbeef\0",
    "proc/cmdline": "root=PARTUUID=ba12ac1e-02 smsc95xx.macaddr=DC:A6:32:01:02:03",
    "proc/meminfo": "MemTotal:        4123456 kB\nMemFree:          100000 kB\n",
    "proc/consoles": "tty1   -WU (EC p  ) 4:1\nttyAMA10   -W- (E  p a) 204:74\n",
    "sys/bus/i2c/devices/i2c-1/name": "Synopsys DesignWare I2C adapter\n",
    "sys/class/tty/ttyAMA10/type": "3\n",
    "sys/class/tty/ttyS0/type": "0\n",
    "sys/class/watchdog/watchdog0/identity": "Broadcom BCM2835 Watchdog timer\n",
    "sys/class/watchdog/watchdog0/timeout": "15\n",
    "sys/class/watchdog/watchdog0/state": "active\n",
    "sys/class/input/input0/name": "pwr_button\n",
    "sys/class/input/input1/name": "Anna's keyboard\n",
    "sys/class/net/wlan0/operstate": "up\n",
    "sys/class/net/wlan0/address": "dc:a6:32:01:02:04\n",
    "proc/net/wireless": "Inter-|\n face |\n wlan0: 0000   60.  -50.  -256  0 0 0 0 0 0\n",
}


def machine(root: Path) -> Readings:
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    revision = root / "proc/device-tree/system/linux,revision"
    revision.parent.mkdir()
    revision.write_bytes(bytes.fromhex("00d04171"))
    driver = root / "sys/class/net/wlan0/device/driver"
    driver.parent.mkdir()
    (root / "drivers/brcmfmac").mkdir(parents=True)
    driver.symlink_to(root / "drivers/brcmfmac")
    return Readings(root, root=root)


def values(text: str) -> dict[str, str]:
    return {line[:14].strip(): line[15:] for line in text.splitlines() if line[14:15] == " "}


def test_what_the_kernel_found_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = {"gpiochip0": "gpio-brcmstb", "gpiochip3": "pinctrl-rp1"}
    monkeypatch.setattr(hardware_form, "chip_labels", lambda _: labels)
    told = values(form(machine(tmp_path), "0.2.0"))
    assert told["version"] == "0.2.0"
    assert told["model"] == "Raspberry Pi 5 Model B Rev 1.1"
    assert told["revision"] == "00d04171"
    assert told["device tree"] == "raspberrypi,5-model-b brcm,bcm2712"
    assert told["memory"] == "4026 MB"
    assert told["pins"] == "gpiochip0 gpio-brcmstb, gpiochip3 pinctrl-rp1 (the header)"
    assert told["I2C"] == "i2c-1 Synopsys DesignWare I2C adapter"
    assert told["serial ports"] == "ttyAMA10"
    assert told["console"] == "tty1, ttyAMA10"
    assert told["watchdog"] == "watchdog0 Broadcom BCM2835 Watchdog timer 15 s active"
    assert told["clock"] == "none"
    assert told["power button"] == "pwr_button"
    assert told["network"] == "wlan0 brcmfmac up"
    assert told["Wi-Fi"] == "wlan0 -50 dBm"
    assert told["throttling"] == "not told by this kernel"


def test_nothing_tells_which_device_it_is(tmp_path: Path) -> None:
    text = form(machine(tmp_path), "0.2.0").lower()
    for private in ("deadbeef", "dc:a6:32", "anna", "ba12ac1e"):
        assert private not in text


def test_an_interface_that_is_called_by_its_address_is_not_told_by_it(tmp_path: Path) -> None:
    """As Debian calls those on USB, the Ethernet of a Pi 3 among them."""
    readings = machine(tmp_path)
    driver = tmp_path / "sys/class/net/enxb827eb0a0b0c/device/driver"
    driver.parent.mkdir(parents=True)
    driver.symlink_to(tmp_path / "drivers/brcmfmac")
    (driver.parents[1] / "operstate").write_text("up\n")
    wireless = FILES["proc/net/wireless"].replace("wlan0", "wlxdca632010203")
    (tmp_path / "proc/net/wireless").write_text(wireless)
    told = values(form(readings, "0.2.0"))
    assert told["network"] == "enx... brcmfmac up, wlan0 brcmfmac up"
    assert told["Wi-Fi"] == "wlx... -50 dBm"


def test_a_machine_that_tells_nothing_has_a_form_too(tmp_path: Path) -> None:
    told = values(form(Readings(tmp_path, root=tmp_path), "0.2.0"))
    assert told["model"] == told["watchdog"] == told["I2C"] == "none"
    assert "[ ] 1. " in form(Readings(tmp_path, root=tmp_path), "0.2.0")
