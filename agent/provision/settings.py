"""Settings that `barnacle.toml` on the card may have beside the agent's own configuration.

Light to import: values alone. A key that is not said leaves what the device has.
"""

import re
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from agent.config import ConfigSection, Secret
from agent.settings import Settings

# Of the package tzdata; it has every country of wireless-regdb, which the kernel reads
_COUNTRIES = Path("/usr/share/zoneinfo/iso3166.tab")
# What standards allow of a network's name, in bytes
MAX_SSID_BYTES = 32
# A passphrase, or the 64 hexadecimal digits that it is turned into
_PASSPHRASE = re.compile(r"[\x20-\x7e]{8,63}|[0-9A-Fa-f]{64}")
_KINDS = (
    r"ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)"
    r"|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\.com"
)

Hostname = Annotated[
    str,
    Meta(
        pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?\Z",
        description="a name of lower-case letters, digits and -, such as greenhouse",
    ),
]
Locale = Annotated[
    str,
    Meta(
        pattern=r"^([a-z]{2,3}_[A-Z]{2}(\.UTF-8)?|C\.UTF-8)?\Z",
        description="a language and a country, such as de_DE.UTF-8",
    ),
]
Country = Annotated[
    str,
    Meta(pattern=r"^([A-Z]{2})?\Z", description="two capital letters, such as DE, GB or US"),
]
PublicKey = Annotated[
    str,
    Meta(
        pattern=rf"^({_KINDS}) [A-Za-z0-9+/]{{32,}}={{0,2}}( [^\r\n]*)?\Z",
        max_length=4000,
        description="one line of a .pub file, such as ssh-ed25519 AAAA... me@laptop",
    ),
]


class DeviceSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[device]` section: the machine itself."""

    # Its name in the network: NAME.local
    hostname: Hostname = ""
    # As in the tz database: Europe/Berlin
    timezone: Annotated[str, Meta(max_length=64)] = ""
    # What programs are told as LANG
    locale: Locale = ""

    def __post_init__(self) -> None:
        if self.timezone and not _is_zone(self.timezone):
            raise ValueError(
                f"timezone must be a place such as Europe/Berlin or UTC, not {self.timezone!r}"
            )


class WifiSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[wifi]` section: the network that the device joins, or the radio's country alone."""

    # Its name; needed, unless there is nothing but a country
    ssid: Annotated[str, Meta(max_length=MAX_SSID_BYTES)] = ""
    # Empty for a network that asks for none
    password: Secret = Secret()
    # Decides on which channels the radio may speak
    country: Country = ""
    # Its name is not announced
    hidden: bool = False

    def __post_init__(self) -> None:
        if self.country and not _is_country(self.country):
            raise ValueError(
                "country must be the two letters of ISO 3166, such as DE, US, or GB for the United "
                f"Kingdom, not {self.country!r}: the radio knows no other"
            )
        is_country_alone = self.country and not (self.ssid or self.password or self.hidden)
        if not (is_country_alone or 1 <= len(self.ssid.encode()) <= MAX_SSID_BYTES):
            raise ValueError(f"ssid must be the network's name, of 1 to {MAX_SSID_BYTES} bytes")
        if self.password and not _PASSPHRASE.fullmatch(self.password.reveal()):
            raise ValueError(
                "password must be 8 to 63 plain characters, or left out for an open network"
            )


class SshSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[ssh]` section: who may log in as root; nobody means that SSH is off."""

    keys: tuple[PublicKey, ...] = ()


class RestoreSettings(ConfigSection, frozen=True, kw_only=True):
    """The `[restore]` section: opens the backup that lies beside the file."""

    # One of the two
    passphrase: Secret = Secret()
    # AGE-SECRET-KEY-...
    key: Secret = Secret()

    def __post_init__(self) -> None:
        if self.passphrase and self.key:
            raise ValueError("passphrase and key are one too many: a backup has one")


class MachineSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of the machine, from any source."""

    device: DeviceSettings = DeviceSettings()
    wifi: WifiSettings | None = None
    ssh: SshSettings | None = None
    restore: RestoreSettings | None = None


class CardSettings(Settings, frozen=True, kw_only=True):
    """Every key of `barnacle.toml` on the card."""

    device: DeviceSettings = DeviceSettings()
    wifi: WifiSettings | None = None
    ssh: SshSettings | None = None
    restore: RestoreSettings | None = None


# Tables of the card that are not the agent's
MACHINE_TABLES = tuple(MachineSettings.__struct_fields__)


def _is_country(code: str) -> bool:
    """Return true if time zones know it; where their list is missing every country counts."""
    try:
        lines = _COUNTRIES.read_text("utf-8", "replace").splitlines()
    except OSError:
        return True
    return code in {line.partition("\t")[0] for line in lines}


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - only where one is named

    try:
        ZoneInfo(name)
    except (OSError, ValueError):
        # ZoneInfoNotFoundError is a KeyError
        return False
    except KeyError:
        return False
    return True
