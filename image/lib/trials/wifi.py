"""The Wi-Fi, by two simulated radios: a refused password is told, a right one joined again."""

from image.lib import first_boot
from image.lib.emulated.bench import Bench
from image.lib.emulated.shell import Shell
from image.lib.trials.expectation import NotTried, expect

_NETWORK, _HOUSE = "barnacle-wifi", "/run/house.conf"
_NOTE = "/run/barnacle-wifi/refused"
_UNIT = "systemctl start barnacle-wifi-again.service"
# NetworkManager looks around every two minutes when nothing is connected
_PATIENCE_S = 400.0
# In which it does not try again by itself
_GIVEN_UP_S = 60
_POINT = """\
country=DE
network={{
ssid="Home"
mode=2
frequency=2437
key_mgmt=WPA-PSK
proto=RSN
pairwise=CCMP
psk="{password}"
}}
"""


def run(bench: Bench, amount: int) -> str:
    del amount
    shell = bench.running()
    _add_radios(shell)
    _open_house(shell, first_boot.PASSWORD)
    bench.until(lambda: _is_joined(shell), "the Wi-Fi is not joined", _PATIENCE_S)
    _open_house(shell, "not what the card says")
    bench.until(lambda: _is_refused(shell), "the refused password is not noted", _PATIENCE_S)
    told = shell.run("barnacle doctor 2>&1 | tr '\\n' ' '")
    expect("refuses the Wi-Fi password" in " ".join(told.split()), f"the doctor says: {told}")
    _open_house(shell, first_boot.PASSWORD)
    shell.run(f"sleep {_GIVEN_UP_S}; touch -d '-2 hours' {_NOTE}")
    expect(not _is_joined(shell), "NetworkManager has not given it up: nothing is left to try")
    bench.until(lambda: _is_joined(shell, _UNIT), "the Wi-Fi is not joined again", _PATIENCE_S)
    shell.run(f"{_UNIT}; systemctl stop house; modprobe -r mac80211_hwsim; nmcli connection reload")
    expect(not shell.run(f"ls {_NOTE} 2>/dev/null"), "the note of the refusal has stayed")
    return "joined; a refused password noted and told by the doctor; given up, and joined again"


def _add_radios(shell: Shell) -> None:
    """Have one radio for the device and one for the house, where no server gives addresses."""
    if shell.run("modprobe mac80211_hwsim radios=2 && echo there") != "there":
        raise NotTried("this kernel has no simulated radios (mac80211_hwsim)")
    addresses = "ipv4.method link-local ipv6.method disabled"
    shell.run(
        "sleep 5; nmcli device set wlan1 managed no; ip link set wlan1 up;"
        f"nmcli connection modify --temporary {_NETWORK} {addresses}"
    )


def _open_house(shell: Shell, password: str) -> None:
    """Have an access point with this password alone, in which NetworkManager has no part."""
    lines = _POINT.format(password=password).replace("\n", "\\n")
    program = f"wpa_supplicant -Dnl80211 -iwlan1 -c{_HOUSE}"
    shell.run(
        f"systemctl stop house 2>/dev/null; printf '{lines}' >{_HOUSE};"
        f"systemd-run --quiet --collect --unit=house {program}; sleep 10"
    )


def _is_joined(shell: Shell, first: str = "true") -> bool:
    return _NETWORK in shell.run(f"{first}; nmcli -t -f NAME connection show --active").splitlines()


def _is_refused(shell: Shell) -> bool:
    """Have the unit look, as its timer does every five minutes."""
    return bool(shell.run(f"{_UNIT}; ls {_NOTE} 2>/dev/null"))
