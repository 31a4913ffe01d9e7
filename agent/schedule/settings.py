"""The `[schedule]` section, and the `[backup]` section: what is done at a time of day."""

from typing import Annotated

from msgspec import Meta

from agent.config import ConfigSection


class ScheduleSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of the schedule."""

    # 0 is never; each look with something to do costs a turn
    heartbeat_minutes: Annotated[int, Meta(ge=0, le=1440)] = 30

    def __post_init__(self) -> None:
        if 0 < self.heartbeat_minutes < _LEAST_MINUTES:
            raise ValueError(f"heartbeat_minutes must be 0, or at least {_LEAST_MINUTES}")


# No job may run more often in a day
_LEAST_MINUTES = 15


DayTime = Annotated[
    str,
    Meta(
        pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]\Z",
        description="a time of day such as 03:30",
    ),
]
PublicKey = Annotated[
    str,
    Meta(
        pattern=r"^(age1[a-z0-9]{20,4000}|ssh-(ed25519|rsa) [A-Za-z0-9+/=]{32,4000}( [^\r\n]*)?)\Z",
        description="a public key of age or SSH, such as age1...",
    ),
]


class BackupSettings(ConfigSection, frozen=True, kw_only=True):
    """Settings of the backup of every night; without a recipient none is made."""

    # Folder or mount point that it is written into; empty means "backups" in the state folder
    to: Annotated[str, Meta(max_length=4096)] = ""
    # Public keys that it is encrypted to: `barnacle backup key` makes one
    recipients: tuple[PublicKey, ...] = ()
    # Or a file with a passphrase, as its one line
    passphrase_file: Annotated[str, Meta(max_length=4096)] = ""
    # Local time of day
    at: DayTime = "03:30"
    # Older ones of this device in that folder are removed
    keep: Annotated[int, Meta(ge=1, le=1000)] = 7
    # Sent to the owner's chat as a file too, where the platform takes it
    send: bool = False

    def __post_init__(self) -> None:
        if self.recipients and self.passphrase_file:
            raise ValueError("recipients and passphrase_file are one too many: a backup has one")

    @property
    def is_wanted(self) -> bool:
        """Return true where backups are made every night."""
        return bool(self.recipients or self.passphrase_file)
