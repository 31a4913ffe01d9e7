"""Restore of a backup that lies on the card's first partition, before the agent's first start.

Done once for each file: its mark is kept beside the restored state, so that a cut between the two
is impossible.
"""

import hashlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agent.errors import ConfigRefused
from agent.provision import card

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.backup.restore import RestoreTarget
    from agent.provision.settings import RestoreSettings

_log = logging.getLogger(__name__)

PATTERN = "*.barnacle-backup"
# As agent/backup/switching.py has them, which is loaded where there is something to restore
MARK, PLAN = "restored-file", Path(".restore/plan.json")
# Of each file: nobody changes a backup and leaves its beginning as it is, which is random
_MARKED_BYTES = 64 * 1024


class CardRestore(Struct, frozen=True):
    """Restore at one start.

    Args:
        folder: the card's first partition.
        state_dir: the agent's, on the data partition.
        target: makes what is restored onto.
    """

    folder: Path
    state_dir: Path
    target: "Callable[[], RestoreTarget]"

    def run(self, content: bytes) -> bool:
        """Restore the backup on the card, unless that was done; return true if it was now.

        Args:
            content: of `barnacle.toml`, which has the passphrase or the key.

        Raises:
            ConfigRefused: the file or its secret is missing or one too many.
            BackupRefused: it cannot be restored; the device is as it was.
        """
        if (self.state_dir / PLAN).exists():
            from agent.backup.restore import go_on  # noqa: PLC0415 - after a cut alone

            go_on(self.target())
            _log.info("provision: restore finished that was cut off")
        # Hidden ones are no person's: a Mac puts ._NAME beside what it copies onto FAT
        found = sorted(one for one in self.folder.glob(PATTERN) if not one.name.startswith("."))
        if not found or (mark := _mark_of(found[0])) == self._known():
            return False
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise ConfigRefused(f"several backups are on the card ({names}): leave one")
        self._restore(found[0], content, mark)
        return True

    def _restore(self, path: Path, content: bytes, mark: str) -> None:
        from agent.backup.encryption import Keys  # noqa: PLC0415 - where there is something to restore
        from agent.backup.restore import restore  # noqa: PLC0415 - as above

        wanted = _secrets(content, path.name)
        identities = (wanted.key.reveal(),) if wanted.key else ()
        self.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        keys = Keys(wanted.passphrase.reveal(), identities)
        note = restore(path, keys, replace(self.target(), mark=mark))
        _log.info("provision: restored (file=%s, epoch=%d)", path.name, note.epoch)

    def _known(self) -> str:
        try:
            return (self.state_dir / MARK).read_text("ascii", errors="replace")
        except OSError:
            return ""


def _secrets(content: bytes, name: str) -> "RestoreSettings":
    from agent.config import decode  # noqa: PLC0415 - where there is something to restore
    from agent.provision.secret_values import is_starred  # noqa: PLC0415 - as above
    from agent.provision.settings import CardSettings  # noqa: PLC0415 - as above

    wanted = decode(card.decoded(content, card.NAME), CardSettings, Path(card.NAME)).restore
    secret = (wanted.passphrase or wanted.key).reveal() if wanted is not None else ""
    if wanted is None or not secret or is_starred(secret):
        raise ConfigRefused(
            f"{card.NAME}: restore: {name} is on the card, and nothing opens it: write [restore] "
            'and a line passphrase = "..." or key = "AGE-SECRET-KEY-..." below it, or remove the '
            "backup"
        )
    return wanted


def _mark_of(path: Path) -> str:
    with path.open("rb") as file:
        beginning = file.read(_MARKED_BYTES)
    size = path.stat().st_size
    return hashlib.sha256(b"%d\n%s" % (size, beginning)).hexdigest()
