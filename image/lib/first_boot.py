"""A card with settings on it, and what a start must have made of them.

For whoever has a card and a shell in it; nothing here starts anything.
"""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from image.lib.layout import FIRMWARE

Run = Callable[[str], str]
Look = Callable[[Run], tuple[str, bool]]

KEY = "sk-first-boot-4f2a9c71d0e8b3"
# Nobody's: made up to be looked for
TOKEN = "1234567890:" + "AAF1rstB00tTokenOfABotThatIsNone"
PASSWORD = "correct " + "horse battery"
SECRETS = (KEY, TOKEN, PASSWORD)
SETTINGS = f"""\
# My greenhouse\r
[device]\r
hostname = "greenhouse"   # beside the tomatoes\r
timezone = "Europe/Berlin"\r
locale = "de_DE.UTF-8"\r
\r
[wifi]\r
ssid = "Home"\r
password = "{PASSWORD}"\r
country = "DE"\r
\r
[provider]\r
kind = "openai"\r
api_key = "{KEY}"\r
\r
[channels.telegram]\r
token = "{TOKEN}"\r
\r
[ssh]\r
keys = ["ssh-ed25519 {"A" * 68} nobody@nowhere"]\r
"""
# Nothing of it may be taken over
WRONG = SETTINGS.replace("Europe/Berlin", "Berlin").replace("greenhouse", "balcony")
WRONG_KEY = "`device.timezone`"


def put(card: Path, name: str, text: str) -> None:
    """Write a file into the firmware partition of a card that is not running."""
    command = ["mcopy", "-o", "-i", _place(card), "-", f"::/{name}"]
    subprocess.run(command, input=text.encode(), check=True)


def get(card: Path, name: str) -> str:
    """A file of the firmware partition; empty where there is none."""
    command = ["mtype", "-i", _place(card), f"::/{name}"]
    return subprocess.run(command, capture_output=True, check=False).stdout.decode()


def left_on(card: Path) -> list[str]:
    """Return the secrets that the raw firmware partition still holds, deleted files included."""
    with card.open("rb") as file:
        file.seek(FIRMWARE.start_bytes)
        raw = file.read(FIRMWARE.size_bytes)
    return [secret for secret in SECRETS if secret.encode() in raw]


def _place(card: Path) -> str:
    return f"{card}@@{FIRMWARE.start_bytes}"


def _says(command: str, wanted: str) -> Look:
    def look(run: Run) -> tuple[str, bool]:
        said = run(command)
        return " ".join(said.split())[:100], wanted in said

    return look


def _says_words(command: str, *wanted: str) -> Look:
    """Whole words: `active` is a part of `inactive`."""

    def look(run: Run) -> tuple[str, bool]:
        words = run(command).split()
        return " ".join(words)[:100], {*wanted} <= {*words}

    return look


_CONNECTION = "/etc/NetworkManager/system-connections/barnacle-wifi.nmconnection"
_PROPERTIES = "systemctl show -P ActiveState -P Result"
# The code is made when the agent is ready to hear it, and a start does not wait for that
_NOTE = "/boot/firmware/barnacle-pairing.txt"
_WAIT = f"for s in $(seq 90); do [ -e {_NOTE} ] && break; sleep 1; done; "
# In the shell of a card that was started with SETTINGS on it
LOOKS: Mapping[str, Look] = {
    "the unit": _says_words(
        f"{_PROPERTIES} barnacle-provision.service", "active", "success"
    ),
    "its log": _says("journalctl -b -u barnacle-provision -o cat", "provision: applied"),
    "no mistake": _says("ls /boot/firmware/*errors* 2>&1", "No such file"),
    "the name": _says_words("hostname", "greenhouse"),
    "the time zone": _says("date +%Z", "CE"),
    "the locale": _says("cat /etc/locale.conf", "LANG=de_DE.UTF-8"),
    "the agent's settings": _says("cat /etc/barnacle/barnacle.toml", 'kind = "openai"'),
    "no secret in them": _says_words(f"grep -c '{KEY}' /etc/barnacle/barnacle.toml", "0"),
    "the agent may read them": _says("stat -c %U:%G:%a /etc/barnacle/barnacle.toml",
                                     "root:barnacle:640"),
    "the credentials": _says("ls /etc/credstore.encrypted /etc/credstore", "api_key"),
    "the agent is given them": _says(
        "grep -c . /run/credentials/barnacle.service/barnacle.api_key "
        "/run/credentials/barnacle.service/barnacle.telegram_token",
        "telegram_token:1",
    ),
    "the connection": _says(f"stat -c %U:%a {_CONNECTION}", "root:600"),
    "NetworkManager knows it": _says("nmcli -t -f NAME connection", "barnacle-wifi"),
    "SSH for the key": _says_words(f"{_PROPERTIES} barnacle-ssh.service", "active"),
    "the pairing code": _says(_WAIT + "cat /run/issue.d/barnacle.issue", "/pair "),
    "the same on the card": _says(f"{_WAIT}cat {_NOTE}", "/pair "),
    "the card is read-only": _says("findmnt -no OPTIONS /boot/firmware", "ro,"),
    "the agent": _says_words("systemctl show -P ActiveState barnacle.service", "active"),
    "failed units": _says_words("systemctl --failed --no-legend --plain | wc -l", "0"),
}  # fmt: skip
