"""Takes an installed agent away again; what a person made stays unless they say otherwise."""

import shutil
from pathlib import Path

from scripts.lib import places
from scripts.lib.changes import Change
from scripts.lib.service_manager import ServiceManager


class Removal:
    """The way out of the system below `root`."""

    def __init__(self, root: Path, manager: ServiceManager) -> None:
        self._root = root
        self._manager = manager
        below = root / "etc"
        put = [below / place for place in places.of_units()]
        self._files = [*put, root / places.COMMAND, root / places.PREFIX]

    def changes(self, *, purge: bool) -> list[Change]:
        """All that takes it away, in order."""
        gone = not (self._root / places.VERSIONS).exists()
        gone = gone and not any(path.exists() or path.is_symlink() for path in self._files)
        changes = [
            Change("stop and disable the service", lambda: gone, self._stop),
            Change("remove the agent", lambda: gone, self._remove, is_quick=True),
        ]
        if purge:
            kept = places.kept(self._root)
            title = f"remove {', '.join([*(f'/{place}' for place in kept), 'the users'])}"
            is_done = not kept and not places.users(self._root)
            changes.append(Change(title, lambda: is_done, self._purge, is_quick=True))
        return changes

    def _stop(self) -> None:
        """Stop what the owner has enabled besides as well; systemd refuses units without a file."""
        folder = self._root / "etc" / places.UNITS
        units = sorted(path.name for path in self._files if path.parent == folder and path.exists())
        if not units:
            return
        if self._manager.runs:
            self._manager.stop(units)
        self._manager.disable(units)

    def _remove(self) -> None:
        for path in self._files:
            path.unlink(missing_ok=True)
        shutil.rmtree(self._root / places.VERSIONS, ignore_errors=True)
        if self._manager.runs:
            self._manager.forget()

    def _purge(self) -> None:
        for place in places.kept(self._root):
            path = self._root / place
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        self._manager.remove_users()
