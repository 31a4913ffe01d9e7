"""The connection of the device's radio, as NetworkManager reads it; a file for root alone."""

import uuid
from pathlib import Path

from agent.provision.settings import WifiSettings
from agent.storage.files import write_atomic

NAME = "barnacle-wifi.nmconnection"
# Names made of a network's name are the same on every start
_NAMESPACE = uuid.UUID("ba12ac1e-0001-5d5a-9e0b-000000000001")
_PSK = "psk="


def connect(folder: Path, wifi: WifiSettings) -> None:
    """Have NetworkManager join the network, from its next start or reload on.

    Raises:
        StorageFull: what was there before still is.
    """
    write_atomic(folder / NAME, connection(wifi).encode())


def connection(wifi: WifiSettings) -> str:
    """The file of a connection."""
    ssid = wifi.ssid.encode()
    lines = [
        "# Written by Barnacle from barnacle.toml or `barnacle setup`",
        "[connection]",
        "id=barnacle-wifi",
        f"uuid={uuid.uuid5(_NAMESPACE, ssid.hex())}",
        "type=wifi",
        "",
        "[wifi]",
        "mode=infrastructure",
        # As numbers: whatever the name holds, it is nothing but a name
        f"ssid={''.join(f'{byte};' for byte in ssid)}",
        *(["hidden=true"] if wifi.hidden else []),
        "",
    ]
    if wifi.password:
        # NetworkManager takes WPA3 with it where the network has that
        lines += ["[wifi-security]", "key-mgmt=wpa-psk"]
        lines += [_PSK + wifi.password.reveal().replace("\\", "\\\\"), ""]
    lines += ["[ipv4]", "method=auto", "", "[ipv6]", "method=auto", ""]
    return "\n".join(lines)


def password_kept(folder: Path) -> str:
    """The password that was taken over before; empty where there is none."""
    try:
        lines = (folder / NAME).read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return ""
    psk = next((line.removeprefix(_PSK) for line in lines if line.startswith(_PSK)), "")
    return psk.replace("\\\\", "\\")
