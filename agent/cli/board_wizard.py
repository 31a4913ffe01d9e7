"""`barnacle board wizard`: find what is wired to a board, try it, write it down."""

import asyncio
import contextlib
import copy
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from agent.cli import configuration, exits
from agent.cli.board_visit import chosen, ready_board
from agent.cli.output import CommandTerminal, say
from agent.cli.places import check_writable, places_of
from agent.cli.wiring import Pins, WiringQuestions, checked, draw, wires
from agent.errors import BadArguments, CallRefused
from agent.health.daemon_thread import in_daemon_thread
from agent.link.base import Board
from agent.link.board import SerialBoard
from agent.link.devices.device_row import DeviceRow
from agent.link.devices.device_table import BY_KIND
from agent.link.pin_settings import USUAL_KIND
from agent.link.settings import BOARD_NAME, BoardSettings
from agent.provision import settings_plan
from agent.provision.dialog import Asker
from agent.provision.settings_plan import ProvisionPaths
from agent.settings import Paths
from agent.storage.files import write_atomic

PICTURE = "wiring.svg"
# Names that only this conversation has
_BUS, _LINE = "wizard_i2c", "wizard_onewire"
# A search takes a few passes of the board's loop
_TRIES, _PAUSE_S = 25, 0.2
_TRIAL_S = 1.0


class _Bench(Struct, frozen=True):
    """A board, and how to reach it with other pins than those of the settings."""

    settings: BoardSettings
    paths: Paths
    asker: Asker

    def visit(
        self, pins: Pins, *, is_agreed: bool = True
    ) -> contextlib.AbstractAsyncContextManager[SerialBoard]:
        """Connect to the board and give it these pins."""
        settings = msgspec.structs.replace(self.settings, pins=checked(pins))
        return ready_board(settings, self.paths, is_agreed=is_agreed)


def run(arguments: Namespace) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadArguments(
            "`board wizard` asks questions and needs a terminal: here, write [board.pins.<name>] "
            "into barnacle.toml (`barnacle check --example` shows how)"
        )
    places = places_of(arguments)
    check_writable(places.config, "board wizard")
    settings, paths = configuration.load_as_root(arguments)
    before = settings_plan.existing(places.config)
    bench = _Bench(chosen(settings, arguments), paths, Asker(CommandTerminal()))
    try:
        return _Conversation(bench, before, places).hold()
    except (EOFError, KeyboardInterrupt):
        say("\nNothing was written.")
        return exits.INTERRUPTED


class _Conversation:
    """One run of the wizard: the board has its old pins again unless the new ones are written."""

    def __init__(self, bench: _Bench, before: dict[str, Any], places: ProvisionPaths) -> None:
        self._bench = bench
        self._asker = bench.asker
        self._places = places
        name = bench.settings.name
        key = "boards" if name in before.get("boards", {}) else "board"
        # The table of that name, whole: what is said replaces it
        self._told = {key: copy.deepcopy(before.get(key, {}))}
        self._table = self._told[key][name] if key == "boards" else self._told[key]
        self._is_renamed = key == "board"
        self._old: Pins = copy.deepcopy(self._table.get("pins", {}))

    def hold(self) -> int:
        if trouble := asyncio.run(self._greeted()):
            say(trouble)
            return exits.FAILED
        if self._is_renamed:
            self._table["name"] = self._name()
        questions = WiringQuestions(CommandTerminal(), copy.deepcopy(self._old))
        is_kept = False
        try:
            self._look(questions)
            questions.of_pins()
            is_kept = self._tried(questions.pins) and self._written(questions.pins)
        finally:
            if not is_kept:
                asyncio.run(self._restored())
        if not is_kept:
            say("Nothing was written.")
        return exits.OK if is_kept else exits.FAILED

    def _name(self) -> str:
        """Ask for the name of the board until the settings can have it."""
        while True:
            name = self._asker.text(
                "Name of the board, first word of its tools:", self._bench.settings.name
            )
            try:
                msgspec.convert({"name": name}, BoardSettings)
            except msgspec.ValidationError:
                self._asker.complain(f"a board has {BOARD_NAME}")
            else:
                return name

    async def _greeted(self) -> str:
        """Say which board it is; return what stands against going on."""
        async with self._bench.visit(self._old, is_agreed=False) as board:
            identity = board.status.identity
            say(f"Found {identity.board if identity else 'a board'} at {board.status.port}.")
            if board.pending or board.misconfigured:
                return "It has other pins than barnacle.toml: run `barnacle board configure` first."
        return ""

    async def _restored(self) -> None:
        async with self._bench.visit(self._old):
            return

    def _look(self, questions: WiringQuestions) -> None:
        """Search the buses, and ask what each thing that answers is."""
        bus, line = questions.bus(), questions.line()
        addresses, serials = asyncio.run(self._found(bus, line)) if bus or line else ((), ())
        for address in addresses:
            questions.of_address(address, bus)
        for serial in serials:
            questions.of_serial(serial, line, is_alone=len(serials) == 1)

    async def _found(
        self, bus: Mapping[str, object], line: Mapping[str, object]
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        pins = copy.deepcopy(self._old)
        # What is configured on those lines already is not searched for again
        pins |= {_BUS: {"kind": "i2c", **bus}} if bus else {}
        pins |= {_LINE: {"kind": "onewire", **line}} if line else {}
        try:
            checked(pins)
        except ValueError as err:
            self._asker.complain(str(err))
            return (), ()
        async with self._bench.visit(pins) as board:
            if board.misconfigured:
                self._asker.complain(board.misconfigured)
                return (), ()
            raw = await _answer(board, "i2c_scan", _BUS, "addresses") if bus else ""
            named = await _answer(board, "onewire_scan", _LINE, "found") if line else ""
        if bus and not raw:
            say("Nothing answers on the I2C bus: look at its wires and its pull-up resistors.")
        if line and not named:
            say("Nothing answers on the 1-Wire line: look at its wires and its resistor to 3.3 V.")
        return tuple(bytes.fromhex(raw)), tuple(named.split())

    def _tried(self, pins: Pins) -> bool:
        if pins == self._old:
            say("Nothing new is wired.")
            return False
        _show(pins)
        if not self._asker.yes("Give this to the board, and try the new outputs?", usual=True):
            return False
        dropped = asyncio.run(self._try_all(pins))
        if dropped is None:
            return False
        for name in dropped:
            del pins[name]
        if dropped:
            asyncio.run(self._given(pins))
        return True

    async def _given(self, pins: Pins) -> None:
        async with self._bench.visit(pins):
            return

    async def _try_all(self, pins: Pins) -> list[str] | None:
        """Try each new output; return those that are to be left out, None if none can be had."""
        dropped = []
        async with self._bench.visit(pins) as board:
            if board.misconfigured:
                self._asker.complain(board.misconfigured)
                return None
            for name in sorted(pins.keys() - self._old.keys()):
                row = BY_KIND[str(pins[name].get("kind", USUAL_KIND))]
                if row.trial and not await self._is_right(board, name, row):
                    dropped.append(name)
        return dropped

    async def _is_right(self, board: Board, name: str, row: DeviceRow) -> bool:
        # In a thread: a board whose Pi is silent while somebody thinks would end its session.
        # Ctrl-C leaves it behind, because it waits for a line.
        def ask(question: str, *, usual: bool) -> Callable[[], bool]:
            return lambda: self._asker.yes(question, usual=usual)

        wanted = ask(f"Switch {name} on for one second? It really moves or lights.", usual=False)
        if not await in_daemon_thread(wanted):
            return True
        try:
            await board.call(row.methods[0].name, {"pin": name, **row.trial})
            await asyncio.sleep(_TRIAL_S)
        except CallRefused as err:
            self._asker.complain(f"the board refuses: {err}")
        finally:
            await board.release()
        if await in_daemon_thread(ask("Did it do what you expected?", usual=True)):
            return True
        return not await in_daemon_thread(ask(f"Leave {name} out?", usual=True))

    def _written(self, pins: Pins) -> bool:
        self._table["pins"] = pins
        plan = settings_plan.planned(self._told, "board wizard", self._places)
        if not self._asker.yes(f"Write {self._places.config}?", usual=True):
            return False
        settings_plan.take(plan, self._places)
        picture = self._places.config.with_name(PICTURE)
        name = str(self._table.get("name", self._bench.settings.name))
        write_atomic(picture, draw(name, checked(pins)).encode())
        say(f"Written. The wires as a picture: {picture}")
        say("A running agent uses them from its next start.")
        return True


async def _answer(board: Board, method: str, pin: str, field: str) -> str:
    """Return what a search tells; the board is asked until it is done."""
    for _ in range(_TRIES):
        try:
            return str((await board.call(method, {"pin": pin}))[field])
        except CallRefused as err:
            if err.code != "busy":
                say(f"The search failed: {err}")
                return ""
        await asyncio.sleep(_PAUSE_S)
    say("The search did not end.")
    return ""


def _show(pins: Pins) -> None:
    say("The wires:")
    for pin, name, kind, purpose in wires(checked(pins)):
        say(f"  {pin:5} {name} ({kind}): {purpose}")
