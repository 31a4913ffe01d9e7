"""systemd as the installer asks it, without one that runs; faults are in the names."""

from collections.abc import Sequence
from pathlib import Path

from scripts.lib import places
from scripts.lib.progress import StepFailed


class ObedientManager:
    """Does what it is told, and remembers what was used at each start."""

    runs = True

    def __init__(self, root: Path) -> None:
        self._root = root
        self.started: list[str] = []
        self.stopped: list[str] = []
        self.enabled = False

    @property
    def used(self) -> str:
        return (self._root / places.PREFIX).readlink().name

    def make_users(self) -> None:
        for place in (places.STATE[0], places.SETTINGS, *places.SECRETS):
            (self._root / place).mkdir(parents=True, exist_ok=True)

    def enable(self) -> None:
        self.enabled = True

    def disable(self, units: Sequence[str]) -> None:
        self.enabled = self.enabled and places.ENABLED[0] not in units

    def is_enabled(self) -> bool:
        return self.enabled

    def runs_from(self, version: Path) -> bool:
        return self.started[-1:] == [version.name]

    def restart(self) -> None:
        self.started.append(self.used)

    def stop(self, units: Sequence[str]) -> None:
        self.started.append("")
        self.stopped = [*units]

    def forget(self) -> None:
        pass

    def remove_users(self) -> None:
        pass


class RefusesToStartManager(ObedientManager):
    """A service that does not become ready with any version but those in `good`."""

    def __init__(self, root: Path, good: str = "") -> None:
        super().__init__(root)
        self._good = good

    def restart(self) -> None:
        super().restart()
        if self.used != self._good:
            raise StepFailed("the journal's last words")


class InterruptedManager(ObedientManager):
    """Somebody presses Ctrl-C during the first start."""

    def restart(self) -> None:
        super().restart()
        if len(self.started) == 1:
            raise KeyboardInterrupt
