"""Boot step of the card: its files are taken over if they are new.

Nothing is imported for a file that was taken over before: the start does not wait for it.
"""

import hashlib
import logging
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import BarnacleError, ConfigRefused, StorageFull
from agent.provision import card
from agent.provision.firmware import Firmware
from agent.storage.files import sync_folder, write_atomic

if TYPE_CHECKING:
    from agent.provision.settings_plan import ProvisionPaths
    from agent.provision.toml_text import Table

_log = logging.getLogger(__name__)

ERRORS = "barnacle-errors.txt"
# Of what the card said last time, beside what was taken over of it
REMEMBERED = "taken-over"
# What is written over it, while it is; and after that, until the rest of the card was searched
WIPING, SWEEPING = "wiping", "sweeping"
# What was refused of it, for `barnacle doctor`: nobody but root looks at the card
REFUSED = "refused"
# Windows hides endings, and Notepad adds one
_MISNAMED = (f"{card.NAME}.txt", f"{card.NAME}.toml")
_REFUSAL = """\
Barnacle could not use the settings on this card, and has changed nothing.
Correct them in this folder and restart the device. This file is removed once all is well.

"""
# Nothing of the file is wrong, and a part of it may have been kept
_HALF_KEPT = """\
Barnacle could not store all of the settings on this card. It tries again at each start.
This file is removed once all is well.

"""


# Not a Struct: a start with nothing new does not load msgspec
@dataclass(frozen=True, slots=True)
class Provisioning:
    """Provisioning at one start.

    Args:
        state: the folder in which it is remembered what was taken over.
        places: made only where something is new.
        sweep: takes what deleted files still hold of secrets off the card.
        restore: restores a backup that lies on the card; is given the file's content.
        unused: why memory stands in the place of the data partition; usually empty.
    """

    firmware: Firmware
    state: Path
    places: "Callable[[], ProvisionPaths]"
    sweep: Callable[[tuple[str, ...]], None] = field(default=lambda _secrets: None)
    restore: Callable[[bytes], bool] = field(default=lambda _content: False)
    unused: Callable[[], str] = field(default=lambda: "")

    def run(self) -> bool:
        """Run the step; return true if all is well. The errors file and the log have the rest."""
        try:
            self._take_over()
            self.firmware.remove(ERRORS)
            (self.state / REFUSED).unlink(missing_ok=True)
        except StorageFull as err:
            self._complain(str(err), _HALF_KEPT)
            return False
        except BarnacleError as err:
            self._complain(str(err), _REFUSAL)
            return False
        except OSError as err:
            said = f"{err.filename}: {err.strerror}" if err.filename else str(err)
            self._complain(said, _HALF_KEPT)
            return False
        return True

    def _take_over(self) -> None:
        folder = self.firmware.folder
        content = card.read(folder / card.NAME)
        _refuse_misnamed(folder, content)
        unused = self.unused()
        if not unused:
            # First: what the file says besides replaces what the backup said
            self.restore(content)
        files = card.left_by_imager(folder)
        is_known = not content or _digest(content) == self._remembered()
        if not files and is_known and not self._is_unfinished():
            return
        content, files = self._finish_wiping(content, files)
        text = card.decoded(content, card.NAME)
        from agent.provision import imager, settings_plan  # noqa: PLC0415 - only where something is new

        places = self.places()
        left, said = _both(lambda: imager.read_imager_files(files), lambda: _table(text))
        plan = settings_plan.planned(_with(left, said), card.NAME, places)
        settings_plan.take(plan, places, may_be_forgotten=True)
        if unused:
            # What is wiped off the card now would be nowhere in the next start
            _log.warning("provision: applied for this start, left on the card (reason=%s)", unused)
            return
        clean = self._plan_to_wipe(content, text)
        clean = self._wipe(content, clean, files)
        # From here on whatever differs from it was written by a person, stars with it
        (self.state / WIPING).replace(self.state / SWEEPING)
        sync_folder(self.state)
        # A word that is also no secret stands there with right
        self.sweep(tuple(one for one in plan.secrets if one.encode() not in clean))
        (self.state / SWEEPING).unlink()
        write_atomic(self.state / REMEMBERED, _digest(clean))
        _log.info(
            "provision: applied (file=%s)", ", ".join([card.NAME, *(path.name for path in files)])
        )

    def _plan_to_wipe(self, content: bytes, text: str) -> bytes:
        """Return the file's next content, noted out of a cut's reach: half a star is a secret.

        With the note everything is taken over, and the card's own files are of no more use.
        """
        from agent.provision.secret_wipe import wiped  # noqa: PLC0415 - as above
        from agent.provision.settings import CardSettings  # noqa: PLC0415 - as above

        clear = wiped(text, CardSettings)
        clean = content if clear == text else card.without_secrets(content, clear)
        write_atomic(self.state / WIPING, clean)
        return clean

    def _finish_wiping(
        self, content: bytes, files: tuple[Path, ...]
    ) -> tuple[bytes, tuple[Path, ...]]:
        """Go on where the power failed; what the card holds then."""
        try:
            clean = (self.state / WIPING).read_bytes()
        except FileNotFoundError:
            return content, files
        if card.is_half_wiped(content, clean):
            return self._wipe(content, clean, files), ()
        # A person has written a new file meanwhile
        return content, files

    def _wipe(self, content: bytes, clean: bytes, files: tuple[Path, ...]) -> bytes:
        """Leave no secret on the card; return the file's content then."""
        if clean == content and not files:
            return clean
        path = self.firmware.folder / card.NAME
        with self.firmware.writable():
            if clean != content:
                # A remark about the stars makes it longer, and the card may be full
                card.in_place(path, clean, len(content))
                clean = card.read(path)
            for one in files:
                card.erase(one)
        return clean

    def _complain(self, problems: str, explanation: str) -> None:
        for line in problems.splitlines():
            _log.error("%s", line)
        notes: dict[str, Callable[[], None]] = {
            ERRORS: lambda: self.firmware.write(ERRORS, f"{explanation}{problems}\n"),
            REFUSED: lambda: self._note(problems),
        }
        # On two partitions: one that is full or worn out does not keep the other from saying so
        for name, write in notes.items():
            try:
                write()
            except (BarnacleError, OSError) as err:
                _log.error("provision: cannot write (file=%s, error=%s)", name, err)

    def _note(self, problems: str) -> None:
        path, text = self.state / REFUSED, f"{problems}\n".encode()
        if not path.exists() or path.read_bytes() != text:
            self.state.mkdir(parents=True, exist_ok=True)
            write_atomic(path, text)
            path.chmod(0o644)

    def _is_unfinished(self) -> bool:
        """Return true if a cut came before the end of the last start with something new."""
        return (self.state / WIPING).exists() or (self.state / SWEEPING).exists()

    def _remembered(self) -> bytes:
        try:
            return (self.state / REMEMBERED).read_bytes()
        except OSError:
            return b""


def _table(text: str) -> "Table":
    from agent.config import decode  # noqa: PLC0415 - only where something is new
    from agent.provision.settings import CardSettings  # noqa: PLC0415 - as above

    # For its sentences: what follows works on the table as it was written
    decode(text, CardSettings, Path(card.NAME))
    return tomllib.loads(text)


def _with(left: "Table", said: "Table") -> "Table":
    """Merge the file's settings over those of Imager, key by key."""
    together: Table = dict(left)
    for name, table in said.items():
        before = together.get(name)
        if isinstance(before, dict) and isinstance(table, dict):
            together[name] = {**before, **table}
        else:
            together[name] = table
    return together


def _both(*readers: "Callable[[], Table]") -> "list[Table]":
    """Read both sources; report the mistakes of both at once."""
    tables, problems = [], []
    for read in readers:
        try:
            tables.append(read())
        except ConfigRefused as err:
            problems.append(str(err))
    if problems:
        raise ConfigRefused("\n".join(problems))
    return tables


def _refuse_misnamed(folder: Path, content: bytes) -> None:
    """Refuse a file with a wrong ending if the right one is empty."""
    for name in _MISNAMED:
        if (folder / name).exists() and not _says_anything(content):
            raise ConfigRefused(
                f"{name}: must be named {card.NAME}; your PC has added an ending that it does "
                'not show: turn on "show file name extensions" and rename the file'
            )


def _says_anything(content: bytes) -> bool:
    return any(line.strip()[:1] not in {b"", b"#", b"["} for line in content.splitlines())


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
