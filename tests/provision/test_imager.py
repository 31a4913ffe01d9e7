"""What the versions of Raspberry Pi Imager leave on a card, in their form."""

from pathlib import Path

import pytest

from agent.errors import ConfigRefused
from agent.provision import imager
from agent.provision.settings import DeviceSettings
from agent.provision.wifi import NAME as CONNECTION
from tests.provision.conftest import Machine

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHJlYWxseU5vS2V5QXRBbGxKdXN0VGVzdA== mei@laptop"
PSK = "64" * 32
USER_DATA = f"""\
#cloud-config
hostname: Greenhouse
manage_etc_hosts: true
packages:
- avahi-daemon
apt:
  conf: |
    Acquire {{
      Check-Date "false";
    }};

timezone: Europe/Berlin
keyboard:
  model: pc105
  layout: "de"
enable_ssh: true
users:
- name: mei
  groups: users,adm,dialout,audio,netdev,video,plugdev,cdrom,games,input,gpio,spi,i2c,render,sudo
  shell: /bin/bash
  lock_passwd: false
  passwd: $5$abcdefgh$1234567890
  ssh_authorized_keys:
    - {KEY}
  sudo: ALL=(ALL) NOPASSWD:ALL
rpi:
  interfaces:
    serial: true
runcmd:
  - [ sh, -c, "printf '%s\\\\n' 'token' > /srv/key && chmod 600 /srv/key" ]
  - [ rfkill, unblock, wifi ]
"""
NETWORK = f"""\
network:
  version: 2
  wifis:
    wlan0:
      dhcp4: true
      regulatory-domain: "DE"
      access-points:
        "Café \\"Möwe\\": 5 GHz":
          hidden: true
          password: "{PSK}"
      optional: true
"""
CUSTOM = f"""\
config_version = 1
[system]
hostname = "greenhouse"
[user]
name = "mei"
password = "$5$abcdefgh$1234567890"
password_encrypted = true
[ssh]
enabled = true
password_authentication = false
authorized_keys = [ "{KEY}" ]
[wlan]
ssid = "Möwe"
password = "{PSK}"
password_encrypted = true
hidden = false
country = "DE"
[locale]
keymap = "de"
timezone = "Europe/Berlin"
"""
FIRST_RUN = f"""\
#!/bin/sh

set +e

CURRENT_HOSTNAME=$(cat /etc/hostname | tr -d " \\t\\n\\r")
if [ -f /usr/lib/raspberrypi-sys-mods/imager_custom ]; then
   /usr/lib/raspberrypi-sys-mods/imager_custom set_hostname greenhouse
else
   echo greenhouse >/etc/hostname
fi
if [ -f /usr/lib/raspberrypi-sys-mods/imager_custom ]; then
   /usr/lib/raspberrypi-sys-mods/imager_custom enable_ssh -k '{KEY}'
fi
   /usr/lib/raspberrypi-sys-mods/imager_custom set_wlan -h  'Mei'"'"'s Möwe' '{PSK}' 'DE'
   /usr/lib/raspberrypi-sys-mods/imager_custom set_keymap 'de'
   /usr/lib/raspberrypi-sys-mods/imager_custom set_timezone 'Europe/Berlin'
rm -f /boot/firstrun.sh
exit 0
"""
DEVICE = {"hostname": "greenhouse", "timezone": "Europe/Berlin"}


def _read(folder: Path, **files: str) -> dict[str, object]:
    paths = []
    for name, text in files.items():
        paths.append(folder / name.replace("_", "-").replace("-dot-", "."))
        paths[-1].write_text(text)
    return imager.read_imager_files(paths)


def test_cloud_init_is_read(tmp_path: Path) -> None:
    assert _read(tmp_path, user_data=USER_DATA, network_config=NETWORK, meta_data="x: y\n") == {
        "device": DEVICE,
        "ssh": {"keys": [KEY]},
        "wifi": {"ssid": 'Café "Möwe": 5 GHz', "hidden": True, "password": PSK, "country": "DE"},
    }


def test_the_key_of_the_one_user_of_imager_2_is_read(tmp_path: Path) -> None:
    told = f"""\
#cloud-config
manage_resolv_conf: false

hostname: greenhouse
manage_etc_hosts: true
timezone: Europe/Berlin
user:
  name: mei
  shell: /bin/bash
  lock_passwd: true
  ssh_authorized_keys:
    - "{KEY}"
  sudo: null
ssh_pwauth: false

runcmd:
  - [ systemctl, enable, --now, ssh ]
  - [ chmod, '0440', '/etc/sudoers.d/010_mei-nopasswd' ]
"""
    assert _read(tmp_path, user_data=told) == {"device": DEVICE, "ssh": {"keys": [KEY]}}


@pytest.mark.parametrize(
    ("written", "ssid"),
    [
        (r"Caf\xc3\xa9", "Café"),
        (r"\xe6\x88\x91 \"C:\\x41\"", '我 "C:\\x41"'),
        (r"Lars\ Netz", r"Lars\ Netz"),
    ],
)
def test_the_bytes_of_a_name_are_read_as_imager_2_writes_them(
    tmp_path: Path, written: str, ssid: str
) -> None:
    network = NETWORK.replace('Café \\"Möwe\\": 5 GHz', written)
    wifi = _read(tmp_path, network_config=network)["wifi"]
    assert isinstance(wifi, dict)
    assert wifi["ssid"] == ssid


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    network = NETWORK.replace('Café \\"Möwe\\": 5 GHz', r"\xff\xfe")
    with pytest.raises(ConfigRefused, match=r"network-config: line 8: .* not UTF-8"):
        _read(tmp_path, network_config=network)


def test_custom_toml_is_read(tmp_path: Path) -> None:
    assert _read(tmp_path, custom_dot_toml=CUSTOM) == {
        "device": DEVICE,
        "ssh": {"keys": [KEY]},
        "wifi": {"ssid": "Möwe", "hidden": False, "password": PSK, "country": "DE"},
    }


PRESEED = f"""\
config_version = "1.0"

[system]
hostname = "greenhouse"

[user]
name = "mei"
password = "$y$j9T$abc$def"
password_encrypted = true
groups = ["sudo"]

[ssh]
enabled = true
password_authentication = false
authorized_keys = [
  "{KEY}",
]

[wlan]
ssid = "Möwe"
password = "{PSK}"
password_encrypted = true
hidden = false
country = "DE"

[locale]
keymap = "de"
timezone = "Europe/Berlin"

[interfaces]
i2c = true
serial = "console"
"""


def test_what_imager_2_writes_for_a_preseed_is_taken_over_and_erased(machine: Machine) -> None:
    (machine.card / "rpi-preseed.toml").write_text(PRESEED)
    assert machine.start()
    assert (machine.device / "hostname").read_text() == "greenhouse\n"
    assert (machine.device / "authorized_keys").read_text() == f"{KEY}\n"
    assert f"psk={PSK}" in (machine.connections / CONNECTION).read_text()
    assert [path.name for path in machine.card.iterdir()] == []


def test_a_name_in_hexadecimal_is_refused(tmp_path: Path) -> None:
    preseed = PRESEED.replace('ssid = "Möwe"', 'ssid_hex = "fffe"')
    with pytest.raises(ConfigRefused, match=r"rpi-preseed.toml: wlan.ssid_hex: .* not UTF-8"):
        _read(tmp_path, rpi_preseed_dot_toml=preseed)


def test_a_script_is_read_and_not_run(tmp_path: Path) -> None:
    trap = f"touch {tmp_path}/run; $(touch {tmp_path}/run)\n"
    assert _read(tmp_path, firstrun_dot_sh=FIRST_RUN + trap) == {
        "device": DEVICE,
        "ssh": {"keys": [KEY]},
        "wifi": {"ssid": "Mei's Möwe", "hidden": True, "password": PSK, "country": "DE"},
    }
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("user-data", "hostname: $(reboot)\n", "user-data: `device.hostname`"),
        ("user-data", "users: *everybody\n", "user-data: line 1: not written by"),
        ("user-data", "just words\n", "user-data: line 1: not written by"),
        ("user-data", "- a\n- b\n", "user-data: line 2: not written by"),
        ("network-config", NETWORK.replace(PSK, "short"), "network-config: `wifi.password`"),
        ("custom.toml", "[wlan\n", "custom.toml: "),
        (
            "firstrun.sh",
            "/usr/lib/raspberrypi-sys-mods/imager_custom set_hostname 'green\n",
            "firstrun.sh: line 1",
        ),
        (
            "firstrun.sh",
            "/usr/lib/raspberrypi-sys-mods/imager_custom set_hostname ;reboot\n",
            "firstrun.sh: `device.hostname`",
        ),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigRefused) as refusal:
        imager.read_imager_files([tmp_path / name])
    assert problem in str(refusal.value)


def test_a_start_takes_over_what_imager_left_and_clears_it_away(machine: Machine) -> None:
    machine.write("# nothing said\n")
    for name, text in (
        ("user-data", USER_DATA),
        ("network-config", NETWORK),
        ("meta-data", "a: b"),
    ):
        (machine.card / name).write_text(text)
    assert machine.start()
    assert (machine.device / "authorized_keys").read_text() == f"{KEY}\n"
    assert f"psk={PSK}" in (machine.connections / CONNECTION).read_text()
    assert [path.name for path in machine.card.iterdir()] == ["barnacle.toml"]
    assert machine.swept == [(PSK,)]
    assert machine.start()
    assert (machine.device / "hostname").read_text() == "greenhouse\n"


def test_the_file_goes_before_what_imager_left(machine: Machine) -> None:
    machine.write('[device]\nhostname = "shed"\n')
    (machine.card / "user-data").write_text(USER_DATA)
    assert machine.start()
    assert (machine.device / "hostname").read_text() == "shed\n"
    assert (machine.device / "localtime").is_symlink()


def test_a_name_that_imager_took_is_one(tmp_path: Path) -> None:
    assert _read(tmp_path, user_data="hostname: Shed-2\n") == {"device": {"hostname": "shed-2"}}
    assert DeviceSettings(hostname="shed-2").hostname == "shed-2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("network-config", 'network:\n  wifis:\n    wlan0:\n      regulatory-domain: "SE"\n'),
        ("rpi-preseed.toml", '[wlan]\ncountry = "SE"\n'),
        (
            "firstrun.sh",
            "/usr/lib/raspberrypi-sys-mods/imager_custom set_wlan_country 'SE'\n",
        ),
    ],
)
def test_a_country_without_a_network_is_the_radios(machine: Machine, name: str, text: str) -> None:
    """A radio without one is not let on the channels of the network that is named later."""
    (machine.card / name).write_text(text)
    assert machine.start()
    assert (machine.device / "wifi-country").read_text() == "SE\n"
    assert not (machine.connections / CONNECTION).exists()


def test_a_network_and_a_country_of_their_own_lines_come_together(tmp_path: Path) -> None:
    program = "/usr/lib/raspberrypi-sys-mods/imager_custom"
    lines = f"{program} set_wlan_country SE\n{program} set_wlan Home {PSK}\n"
    found = _read(tmp_path, firstrun_dot_sh=lines)
    assert found["wifi"] == {"ssid": "Home", "hidden": False, "password": PSK, "country": "SE"}
