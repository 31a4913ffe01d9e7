"""An agent installed below a root: the changes that make it so, and the way back.

`opt/barnacle` is a link to the version that is used. It is moved in one step, and moved back when
the service does not become ready with the new version.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from scripts.lib import machine, places, version
from scripts.lib.changes import Change
from scripts.lib.progress import StepFailed, say
from scripts.lib.service_manager import ServiceManager

# Makes a version in a folder: where it will be, its extras, the version there was
Make = Callable[[Path, Path, frozenset[str], Path | None], None]
_EXAMPLE = places.ROOT / "agent/cli/example.toml"


class Installation:
    """The agent below `root`.

    Args:
        make: makes a version, whole or not at all.
        extras: None are those of the version that is used.
        with_journal: also the policy for the machine's journal.
    """

    def __init__(
        self,
        root: Path,
        manager: ServiceManager,
        make: Make,
        extras: frozenset[str] | None = None,
        *,
        with_journal: bool = False,
    ) -> None:
        self._root = root
        self._manager = manager
        self._maker = make
        self._link = root / places.PREFIX
        # What is used when this begins
        self._before = self._linked()
        self._extras = self._chosen(extras)
        self._journal = with_journal
        self._key = version.key(self._extras)
        self.version = root / places.VERSIONS / f"{version.number()}-{self._key[:12]}"

    def changes(self) -> list[Change]:
        """All that makes it installed, in order."""
        settings = self._root / places.SETTINGS / "barnacle.toml"
        title = "write etc/barnacle/barnacle.toml"
        return [
            Change(f"make version {self.version.name}", self._is_made, self._make),
            Change("put units, users and rules into etc", self._is_put, self._put, is_quick=True),
            Change("make users and folders", self._has_folders, self._manager.make_users),
            Change(title, lambda: _is_there(settings), self._write_settings, is_quick=True),
            Change("enable the service", self._manager.is_enabled, self._manager.enable),
            Change("use the new version", self._is_used, self._use, is_quick=True),
            Change("start the service", self._is_started, self._start),
            Change(
                "remove older versions",
                lambda: not self._older(),
                self._remove_older,
                is_quick=True,
            ),
        ]

    def _linked(self) -> Path | None:
        if not (self._link.is_symlink() and self._link.is_dir()):
            return None
        return self._link.parent / self._link.readlink()

    def _chosen(self, extras: frozenset[str] | None) -> frozenset[str]:
        if extras is not None:
            return extras
        before = version.extras_of(self._before) if self._before else None
        if before is not None:
            return before
        return frozenset({"pi"}) if machine.is_pi(self._root) else frozenset()

    def _is_made(self) -> bool:
        return version.is_whole(self.version, self._key)

    def _make(self) -> None:
        final = Path("/", self.version.relative_to(self._root))
        self._maker(self.version, final, self._extras, self._before)

    def _put_of(self, folder: Path) -> dict[Path, Path]:
        """The files below etc that a version brings, by their places."""
        files = places.of_units(folder / "systemd")
        is_asked = self._journal or (self._root / "etc" / places.JOURNAL).exists()
        return {
            self._root / "etc" / place: path
            for place, path in files.items()
            if place != places.JOURNAL or is_asked
        }

    def _is_put(self) -> bool:
        # Before it is made, the checkout has the same
        folder = self.version if self._is_made() else places.ROOT
        return all(
            place.exists() and place.read_bytes() == path.read_bytes()
            for place, path in self._put_of(folder).items()
        )

    def _put(self, folder: Path | None = None) -> None:
        for place, path in self._put_of(folder or self.version).items():
            places.copy(path, place)

    def _has_folders(self) -> bool:
        folders = (self._root / place for place in (places.STATE[0], places.SETTINGS))
        return self._is_used() and all(folder.is_dir() for folder in folders)

    def _write_settings(self) -> None:
        settings = self._root / places.SETTINGS / "barnacle.toml"
        places.copy(_EXAMPLE, settings)
        # Root's to change and the agent's to read, as its folder is
        os.chown(settings, -1, settings.parent.stat().st_gid)
        settings.chmod(0o640)

    def _is_used(self) -> bool:
        command = self._root / places.COMMAND
        return self._linked() == self.version and command.is_symlink()

    def _use(self, folder: Path | None = None) -> None:
        target = folder or self.version
        _link(self._link, target.relative_to(self._link.parent))
        command = self._root / places.COMMAND
        command.parent.mkdir(parents=True, exist_ok=True)
        _link(command, Path("/", places.PREFIX, "bin/barnacle"))

    def _is_started(self) -> bool:
        return not self._manager.runs or self._manager.runs_from(self.version)

    def _start(self) -> None:
        old = self._before if self._before != self.version else self._newest_older()
        try:
            self._manager.restart()
        except StepFailed as failure:
            if old is None:
                raise StepFailed(f"{failure}\nIt is installed, and does not start.") from failure
            self._go_back(old)
            raise StepFailed(
                f"{failure}\nThe new version does not start; {old.name} runs again."
            ) from failure
        except KeyboardInterrupt:
            # Nobody would look whether it has started
            if old is not None:
                self._go_back(old)
            raise

    def _go_back(self, old: Path) -> None:
        say(f"going back to {old.name}")
        self._put(old)
        self._use(old)
        self._manager.restart()

    def _newest_older(self) -> Path | None:
        """Return what ran before an installation that was killed after it had moved the link."""
        whole = [folder for folder in self._older() if version.is_finished(folder)]
        return max(whole, key=lambda folder: folder.stat().st_mtime, default=None)

    def _older(self) -> list[Path]:
        found = sorted((self._root / places.VERSIONS).glob("*"))
        return [folder for folder in found if folder != self.version]

    def _remove_older(self) -> None:
        for folder in self._older():
            shutil.rmtree(folder)


def _is_there(path: Path) -> bool:
    """Return true if the path exists, or if its folder is closed to the user of a dry run."""
    try:
        return path.exists()
    except PermissionError:
        return True


def _link(path: Path, target: Path) -> None:
    """Make `path` a link to `target`, at once: it always leads somewhere."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(path)
