"""A bench with everything on it: card, computer, board, what is outside; and Anna, who uses it.

A trial asks for the state that it needs, and gets there from whatever the trial before it left.
"""

import re
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self

from image.lib import first_boot
from image.lib.emulated.card import Card
from image.lib.emulated.evidence import Evidence
from image.lib.emulated.faults import GuestFailed
from image.lib.emulated.guest import PLACES, Conditions, Guest
from image.lib.emulated.outside import Outside
from image.lib.emulated.shell import Shell
from image.lib.emulated.usb.cable import Cable
from image.lib.emulated.usb.i2c_adapter import I2cAdapter
from image.lib.emulated.usb.serial_port import SerialPort
from scripts.lib.progress import say
from tests.fakes.board_sim import BoardSim

# The same moments each time, unless another one is asked for
USUAL_SEED = 20260101
# Under emulation and load; a Pi needs a tenth
START_S = 600.0
_LOOK_S = 2.0
# What the service says of itself when the board answers
READY = "board: simulated on "
_CONFIG = """\
[device]
hostname = "greenhouse"
timezone = "Europe/Berlin"
locale = "de_DE.UTF-8"

[wifi]
ssid = "Home"
password = "{password}"
country = "DE"

[provider]
kind = "openai"
base_url = "http://{model}/v1"
model = "fake-model"
api_key = "{key}"

[channels.telegram]
base_url = "http://{telegram}"
token = "{token}"

[board]
port = "/dev/barnacle-board"

[agent.rules.pump]
tool = "board_*"
where = {{ pin = "pump", value = "on" }}
verdict = "ask"

[pins.lamp]
gpio = 5
danger = "actuate"

[i2c.thermometer]
bus = 0
address = 0x48
write = "actuate"
"""


class Bench:
    """One card's life.

    Args:
        image: the built image.
        folder: for what is kept of it, if anything is.
        sign_key: the one that the image takes updates by, if it is known.
        seed: of everything that is left to chance.
        older: an image of an earlier version, if there is one.
    """

    def __init__(
        self,
        image: Path,
        folder: Path | None = None,
        sign_key: Path | None = None,
        seed: int = USUAL_SEED,
        older: Path | None = None,
    ) -> None:
        self.image = image
        self.sign_key = sign_key
        self.older = older
        self.seed = seed
        # How often the machine has restarted without being asked to
        self.restarts = 0
        self._kept = folder

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            # Short, because sockets are in it
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix="barnacle-"))
            self.work = self._kept or Path(made)
            self.work.mkdir(parents=True, exist_ok=True)
            self.outside = stack.enter_context(Outside())
            self.board = stack.enter_context(BoardSim(Path(made)))
            self.port = SerialPort(self.board.port.resolve())
            stack.callback(self.port.close)
            self.card = Card(self.image, self.work / "card.img")
            self.evidence = Evidence(self.work, self.image.parent / "bad")
            self.guest = Guest(self.card, self.work, self.outside.ports)
            stack.callback(self.guest.cut_power)
            self.bus = I2cAdapter()
            self.cable = Cable(self.port, self.guest.port("board"))
            self.bus_cable = Cable(self.bus, self.guest.port("i2c"))
            stack.callback(self.bus_cable.unplug)
            stack.callback(self.cable.unplug)
            self._is_provisioned = self._is_paired = self._is_spent = False
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def shell(self) -> Shell:
        return self.guest.shell

    def start(self, conditions: Conditions | None = None) -> float:
        """Power on with everything plugged in; how long until all is started."""
        self.power_on(conditions)
        self.guest.wait_for_shell(START_S)
        return self.settled()

    def power_on(self, conditions: Conditions | None = None) -> None:
        """With everything plugged in; nothing is waited for."""
        self.stop()
        if self._is_spent:
            self.put_usual_card()
        self.provision()
        given = conditions or Conditions()
        if given.log is None:
            given = replace(given, log=self.evidence.note(self.card))
        self.guest.start(given)
        self.plug()

    def go_on(self) -> bool:
        """Start it anew where it has restarted by itself; True where it had."""
        if not self.guest.wants_start:
            return False
        self.restarts += 1
        is_trial = self.guest.wants_trial
        say(f"the machine has restarted by itself; its last words:\n{self.guest.last_words()}")
        self.power_on(Conditions(config="tryboot.txt" if is_trial else "config.txt"))
        return True

    def stop(self) -> None:
        """Pull everything out."""
        self.guest.cut_power()
        self.cable.unplug()
        self.bus_cable.unplug()

    def plug(self) -> None:
        """As soon as the ports are there."""
        deadline_s = time.monotonic() + _LOOK_S * 5
        for cable in (self.cable, self.bus_cable):
            while not cable.is_plugged and time.monotonic() < deadline_s:
                try:
                    cable.plug()
                except OSError:
                    time.sleep(0.1)

    def settled(self) -> float:
        """Until all units are started; how long after power that was."""
        while self.guest.age_s < START_S:
            state = self.shell.run("systemctl is-system-running")
            if state not in {"starting", "initializing"}:
                return self.guest.age_s
            time.sleep(_LOOK_S)
        jobs = self.shell.run("systemctl --no-legend list-jobs | head")
        raise GuestFailed(f"still starting: {jobs}")

    def running(self) -> Shell:
        """A started system, as it is or started now."""
        if not self.guest.is_running or self._is_spent:
            self.start()
        self.plug()
        return self.shell

    def chatting(self) -> Outside:
        """A started system whose owner is Anna."""
        self.running()
        if not self._is_paired:
            since = len(self.outside.shown())
            self.outside.write(f"/pair {self.pairing_code()}")
            self.outside.wait_for("wner", since)
            self._is_paired = True
        return self.outside

    def provision(self) -> None:
        """Write the settings onto a new card, as a person does at a PC."""
        if not self._is_provisioned:
            self.card.write("barnacle.toml", self.config().encode())
            self._is_provisioned = True

    def put_usual_card(self) -> None:
        """Put a new card in that becomes the usual device with its first start."""
        self._put_new_card()
        self._is_provisioned = self._is_paired = False

    def put_older_card(self) -> None:
        """Put a card of an earlier version in that becomes the usual device."""
        assert self.older is not None
        self._put_new_card(self.older)
        self._is_provisioned = self._is_paired = False

    def put_blank_card(self) -> None:
        """Put a new card in on which this bench writes nothing."""
        self._put_new_card()
        self._is_provisioned, self._is_paired = True, False

    def put_restored_card(self, files: Mapping[str, bytes]) -> None:
        """Put a new card in with a backup of the one before, whose owner it has then."""
        self._put_new_card()
        for name, content in files.items():
            self.card.write(name, content)
        self._is_provisioned = True

    def spend_card(self) -> None:
        """Let the next start have the usual card in it; this one may be evidence until then."""
        self._is_spent = True

    def _put_new_card(self, image: Path | None = None) -> None:
        """Throw the card away and put one in as it was flashed."""
        self.stop()
        self.card.path.unlink()
        self.card = self.guest.card = Card(image or self.image, self.card.path)
        self._is_spent = False

    def config(self) -> str:
        secrets = {"key": first_boot.KEY, "password": first_boot.PASSWORD}
        return _CONFIG.format(**PLACES, **secrets, token=self.outside.server.token)

    def with_board(self) -> Outside:
        """A system with an owner and a board that is ready."""
        outside = self.chatting()
        self.until_status(READY)
        return outside

    def until_status(self, wanted: str, most_s: float = 120.0) -> float:
        """Until the service says so of itself; how long that took."""
        begun_s = time.monotonic()
        self.until(lambda: wanted in self.status(), f"the status is not {wanted!r}", most_s)
        return time.monotonic() - begun_s

    def status(self) -> str:
        """Return the line of `systemctl status`."""
        return self.shell.run("systemctl show -P StatusText barnacle.service")

    def until(self, look: Callable[[], bool], complaint: str, most_s: float) -> None:
        deadline_s = time.monotonic() + most_s
        while not look():
            if time.monotonic() > deadline_s:
                raise GuestFailed(f"{complaint} after {most_s:.0f} s")
            time.sleep(_LOOK_S)

    def pairing_code(self) -> str:
        """Return the newest code that the service has told its journal."""
        shell = self.shell
        log = shell.run("journalctl -b -u barnacle -o cat | grep -o '/pair [A-Z0-9-]*' | tail -1")
        found = re.search(r"/pair ([A-Z0-9-]+)", log)
        if found is None:
            last = shell.run("journalctl -b -u barnacle -o cat | tail -20")
            raise GuestFailed(f"there is no code in the journal:\n{last}")
        return found[1]
