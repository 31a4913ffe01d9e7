"""A new version's way from its slot to being kept, or back: every step can be cut and begun again.

Until it is kept, config.txt names the version before, so that whatever ends the trial ends it
there. Nothing here judges whether a version is healthy.
"""

import enum
import logging
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from agent.errors import StorageFull, UpdateRefused
from agent.system.clock import Clock
from agent.system.crash_points import crash_point
from agent.update import bootloader
from agent.update.alone import alone
from agent.update.machine import Machine
from agent.update.records import TRIAL, Held, Phase, Trial, UpdateOutcome, UpdateRecords

_log = logging.getLogger(__name__)

# What the Pi's boot loader is told through the kernel: partition as ever, tryboot.txt this once
TRYBOOT = "0 tryboot"
_UNSEEN = "it did not start, or stopped before it was healthy (power cut, watchdog or kernel crash)"
_ASKED = "requested by a user"
Restart = Callable[[str], None]


class TrialStanding(enum.Enum):
    """Standing of the running system in a trial."""

    # Nothing waits, or what waited is settled now
    SETTLED = "settled"
    # Another version waits in its slot for its first start
    WAITING = "waiting"
    # This is the new version, and it is not kept yet
    ON_TRIAL = "on trial"


class Trials(Struct, frozen=True):
    """Begins, keeps and ends the trial of a version.

    Args:
        restart: starts the machine anew; its argument is for the boot loader.
    """

    machine: Machine
    records: UpdateRecords
    restart: Restart
    clock: Clock

    def begin(self, failed: Sequence[str] = ()) -> None:
        """Start the version that waits, once.

        Args:
            failed: units that have failed already, without it.

        Raises:
            UpdateRefused: none waits.
        """
        trial = self.records.trial()
        if trial is None or trial.slot == self.machine.running:
            raise UpdateRefused("no version waits for a trial: `barnacle update FILE` installs one")
        by_switch = not self.machine.knows_tryboot
        tried = msgspec.structs.replace(
            trial, phase=Phase.TRYING, by_switch=by_switch, failed_before=tuple(failed)
        )
        self.records.write(tried)
        crash_point("update.asked")
        if by_switch:
            with bootloader.writable(self.machine.firmware):
                bootloader.note_letter(self.machine.firmware, trial.slot)
                bootloader.select(self.machine.firmware, trial.slot)
        self.restart("" if by_switch else TRYBOOT)

    def settle(self) -> TrialStanding:
        """Decide what this system's start means; the first step of each start."""
        trial = self.records.trial()
        if trial is None:
            return TrialStanding.SETTLED
        if trial.slot == self.machine.running:
            return self._settle_here(trial)
        if trial.phase is Phase.WRITTEN:
            return TrialStanding.WAITING
        self._end(trial, trial.reason or _UNSEEN)
        return TrialStanding.SETTLED

    def keep(self) -> None:
        """Make this version the one of every start.

        Raises:
            UpdateRefused: it is not on trial.
        """
        trial = self._here()
        self._forget_letter()
        self._select(trial.slot)
        self._keep(trial)

    def give_way(self, reason: str) -> None:
        """Return to the previous version, which tells why.

        Raises:
            UpdateRefused: it is not on trial.
        """
        trial = self._here()
        _log.error(
            "update: returning to the previous version (from=%s, to=%s, reason=%s)",
            trial.version,
            trial.from_version,
            reason,
        )
        self._select(self.machine.other)
        try:
            changed = msgspec.structs.replace(trial, phase=Phase.RUNNING, reason=reason)
            self.records.write(changed)
        except (StorageFull, OSError) as err:
            _log.warning("update: cannot record why for the previous version (error=%s)", err)
        self.restart("")

    def go_back(self) -> None:
        """Forget what waits, end the trial that lasts, or start the version before the kept one.

        Raises:
            UpdateRefused: there is no version to go back to, or its slot is being written.
        """
        with alone(self.machine.records):
            self._go_back()

    def _go_back(self) -> None:
        trial = self.records.trial()
        if trial is not None and trial.slot == self.machine.running:
            self.give_way(_ASKED)
        elif trial is not None:
            self._end(trial, _ASKED)
        else:
            self._start_held()

    def _start_held(self) -> None:
        running, version = self.machine.running, self.machine.identity.version
        held = self.records.held(running)
        if held is None:
            raise UpdateRefused("the other slot has no complete version to return to")
        # Before the slot is chosen: whichever starts after a cut knows what the other one holds
        self.records.write(Held(held.slot, held.version, version))
        self._select(held.slot)
        self._tell(version, held.version, reason=_ASKED)
        self.records.write(Held(running, version, held.version))
        self.restart("")

    def _settle_here(self, trial: Trial) -> TrialStanding:
        is_configured = bootloader.configured(self.machine.firmware) == trial.slot
        if is_configured and not (trial.by_switch and trial.phase is Phase.TRYING):
            # Cut between the last two steps of being kept
            self._keep(trial)
            return TrialStanding.SETTLED
        if trial.phase is not Phase.RUNNING:
            # From here on every other start is one of the version before
            self._select(self.machine.other)
            self._forget_letter()
            crash_point("update.started")
            self.records.write(msgspec.structs.replace(trial, phase=Phase.RUNNING))
        return TrialStanding.ON_TRIAL

    def _here(self) -> Trial:
        trial = self.records.trial()
        if trial is None or trial.slot != self.machine.running:
            raise UpdateRefused("the running version is not on trial")
        return trial

    def _keep(self, trial: Trial) -> None:
        crash_point("update.keeping")
        self.records.write(Held(self.machine.other, trial.from_version, trial.version))
        self._tell(trial.version, trial.from_version)
        crash_point("update.kept")
        self.records.forget(TRIAL)
        _log.warning("update: kept (version=%s)", trial.version)

    def _end(self, trial: Trial, reason: str) -> None:
        """The version that was tried, or waited, is none any more; this one goes on."""
        with bootloader.writable(self.machine.firmware):
            bootloader.withdraw(self.machine.firmware)
            bootloader.select(self.machine.firmware, self.machine.running)
        self._tell(trial.version, trial.from_version, reason=reason)
        crash_point("update.returned")
        self.records.forget(TRIAL)
        _log.warning("update: not kept (version=%s, reason=%s)", trial.version, reason)

    def _select(self, slot: str) -> None:
        if bootloader.configured(self.machine.firmware) != slot:
            with bootloader.writable(self.machine.firmware):
                bootloader.select(self.machine.firmware, slot)

    def _forget_letter(self) -> None:
        firmware, slot = self.machine.firmware, self.machine.running
        if bootloader.is_noted(firmware, slot):
            with bootloader.writable(firmware):
                bootloader.forget_letter(firmware, slot)

    def _tell(self, version: str, from_version: str, *, reason: str = "") -> None:
        """Leave word for the owner; without a reason the version is kept."""
        at_s = self.clock.wall_s()
        told = UpdateOutcome(version, from_version, is_kept=not reason, at_s=at_s, reason=reason)
        self.records.write(told)
