from pathlib import Path

import pytest

from agent.config import decode
from agent.errors import ConfigRefused
from agent.provision.settings import CardSettings, MachineSettings

NAME = Path("barnacle.toml")


def test_an_empty_file_says_nothing() -> None:
    assert decode("", CardSettings, NAME) == CardSettings()


def test_the_agents_own_keys_may_stand_beside_the_machines() -> None:
    told = decode('[device]\nhostname = "shed"\n[agent]\nname = "Rosa"\n', CardSettings, NAME)
    assert (told.device.hostname, told.agent.name) == ("shed", "Rosa")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[device]\nhostname = "-shed"\n', "a name of lower-case letters, digits and -"),
        ('[device]\nhostname = "a.b"\n', "a name of lower-case letters, digits and -"),
        ('[device]\ntimezone = "../../etc/passwd"\n', "a place such as Europe/Berlin"),
        ('[device]\ntimezone = "Europe"\n', "a place such as Europe/Berlin"),
        ('[device]\nlocale = "de"\n', "such as de_DE.UTF-8"),
        ('[wifi]\nssid = "ääääääääääääääääääää"\n', "of 1 to 32 bytes"),
        ('[wifi]\nssid = "a"\ncountry = "de"\n', "two capital letters"),
        ('[wifi]\nssid = "a"\ncountry = "UK"\n', "GB for the United Kingdom"),
        ('[wifi]\ncountry = "EU"\n', "GB for the United Kingdom"),
        ('[wifi]\nssid = "a"\npassword = "pässwörter"\n', "plain characters"),
        ('[ssh]\nkeys = ["ssh-ed25519 AAAA"]\n', "one line of a .pub file"),
        ('[ssh]\nkeys = ["command=\\"reboot\\" ssh-rsa AAAA"]\n', "one line of a .pub file"),
        ("[sssh]\nkeys = []\n", "did you mean `ssh`?"),
    ],
)
def test_what_is_wrong_is_named(text: str, problem: str) -> None:
    with pytest.raises(ConfigRefused) as refusal:
        decode(text, MachineSettings, NAME)
    assert problem in str(refusal.value)
    assert "pässwörter" not in str(refusal.value)


def test_a_network_without_a_password_is_open() -> None:
    told = decode('[wifi]\nssid = "Cafe"\n', MachineSettings, NAME)
    assert told.wifi is not None
    assert not told.wifi.password
