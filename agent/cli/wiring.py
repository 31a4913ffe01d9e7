"""Wiring of a board: the questions about it, and its picture with a line from each pin."""

import re
from collections.abc import Iterator, Mapping
from html import escape

import msgspec

from agent.link.devices.device_row import I2C_LINES, ONE_WIRE_LINE, DeviceOption, DeviceRow
from agent.link.devices.device_table import BY_KIND, ROWS
from agent.link.pin_settings import USUAL_KIND, PinSettings
from agent.link.settings import MAX_PIN_NAME_CHARS
from agent.provision.dialog import Asker, Screen

# Thermometers on a 1-Wire line by their family; an entry means the first unless it says so
_THERMOMETERS = {0x28: "DS18B20", 0x22: "DS1822"}
_USUAL_FAMILY = next(iter(_THERMOMETERS))
_ON_LONGEST_S = 86_400
_PIN = re.compile("P[A-K][0-9]{1,2}")

Pins = dict[str, dict[str, object]]
_ROW_PX, _MARGIN_PX, _TEXT_PX = 26, 24, 14
_BOARD_PX, _WIRE_PX, _PART_PX = 150, 190, 330
# Told apart by people who see few colours, too
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#56606b")
_STYLE = "font-family='DejaVu Sans, Arial, sans-serif'"


def kinds_at(address: int) -> tuple[str, ...]:
    """Return the kinds that may answer at an address of an I2C bus, the most likely first.

    A PCA9685 can have nearly every address: away from its own it is not proposed beside others.
    """
    found = [
        (option.default != address, len(row.lines) > 1, row.kind)
        for row in ROWS
        if row.shares_lines == I2C_LINES
        for option in row.options
        if option.name == "address" and option.lowest <= address <= option.highest
    ]
    is_told = not all(is_wired for _, is_wired, _ in found)
    return tuple(
        kind
        for is_moved, is_wired, kind in sorted(found)
        if not (is_told and is_moved and is_wired)
    )


def _kind_by_serial() -> str:
    """Return the kind that is told apart on a 1-Wire line."""
    rows = (row for row in ROWS if row.shares_lines == ONE_WIRE_LINE)
    return next(row.kind for row in rows if any(one.name == "serial" for one in row.options))


class WiringQuestions:
    """Asks until the board has everything that hangs on it.

    Args:
        screen: where it asks.
        pins: what is configured already; what is answered is added.
    """

    def __init__(self, screen: Screen, pins: Pins) -> None:
        self._screen = screen
        self._asker = Asker(screen)
        self.pins = pins

    def bus(self) -> dict[str, object]:
        """Return the lines of an I2C bus to look at; empty where there is none."""
        clock = self._pin("I2C bus: its clock pin (SCL), such as PB6; empty: none")
        if not clock:
            return {}
        return {"pin": clock, "sda": self._pin("its data pin (SDA), such as PB7", is_needed=True)}

    def line(self) -> dict[str, object]:
        """Return the pin of a 1-Wire line to look at; empty where there is none."""
        pin = self._pin("1-Wire line (DS18B20): its pin, such as PB12; empty: none")
        return {"pin": pin} if pin else {}

    def of_address(self, address: int, bus: Mapping[str, object]) -> None:
        """Ask what a device that answers on the bus is, and what it is called."""
        kinds = kinds_at(address)
        if not kinds:
            self._screen.say(f"At 0x{address:02x} answers something that no driver knows.")
            return
        self._screen.say(f"At 0x{address:02x} something answers: it may be {' or '.join(kinds)}.")
        row = BY_KIND[kinds[0]] if len(kinds) == 1 else self._chosen(kinds)
        entry = {"kind": row.kind, **bus}
        if (option := _option(row, "address")) is not None and option.default != address:
            entry["address"] = address
            # A PCA9685 can be nearly everywhere, as a memory or a clock is that no driver knows
            is_likely = len(kinds) > 1 or len(row.lines) == 1
            if not is_likely and not self._asker.yes(f"Is it a {row.kind}?", usual=False):
                return
        self._add_each(row, entry)

    def _chosen(self, kinds: tuple[str, ...]) -> DeviceRow:
        while (kind := self._asker.text("Which of them is it?", kinds[0])) not in kinds:
            self._asker.complain(f"it is one of {', '.join(kinds)}")
        return BY_KIND[kind]

    def of_serial(self, found: str, pin: Mapping[str, object], *, is_alone: bool) -> None:
        """Ask what a sensor on the 1-Wire line is called."""
        family, serial = (int(part, 16) for part in found.split("-"))
        if family not in _THERMOMETERS:
            self._screen.say(f"{found} on the 1-Wire line is something that no driver knows.")
            return
        self._screen.say(f"{found} on the 1-Wire line is a {_THERMOMETERS[family]}, a thermometer.")
        called = {} if family == _USUAL_FAMILY else {"family": family}
        row = BY_KIND[_kind_by_serial()]
        entry = {"kind": row.kind, **pin}
        # Alone it is called without its number
        self._add(row, entry if is_alone else {**entry, **called, "serial": serial})

    def of_pins(self) -> None:
        """Ask for one pin after the other, until an empty answer."""
        self._screen.say(f"Kinds: {', '.join(BY_KIND)}.")
        while pin := self._pin("Another pin, such as PB0; empty: that is all"):
            kind = self._asker.text(f"What hangs on {pin}?", USUAL_KIND)
            row = BY_KIND.get(kind)
            if row is None:
                self._asker.complain(f"there is no kind {kind}")
                continue
            self._add_each(row, {"kind": kind, "pin": pin} | self._address(row))

    def _address(self, row: DeviceRow) -> dict[str, object]:
        """Ask for the I2C address of a device that can have several."""
        option = _option(row, "address")
        if option is None or option.lowest == option.highest:
            return {}
        lowest, usual, highest = (
            f"0x{one:02x}" for one in (option.lowest, option.default, option.highest)
        )
        question = f"Its I2C address, {lowest} to {highest}"
        address = self._number(question, option.lowest, option.highest, usual)
        return {} if address in {None, option.default} else {"address": address}

    def _add_each(self, row: DeviceRow, entry: Mapping[str, object]) -> None:
        """Ask for the further wires of a device, and for a name: of each channel that is used."""
        whole = {**entry, **self._wires(row, entry)}
        option = _option(row, "channel")
        if option is None:
            self._add(row, whole)
            return
        question = f"Its channel, {option.lowest} to {option.highest}; empty: no more"
        while (channel := self._number(question, option.lowest, option.highest)) is not None:
            self._add(row, {**whole, "channel": channel})

    def _wires(self, row: DeviceRow, entry: Mapping[str, object]) -> dict[str, object]:
        """Ask for what an entry does not name yet."""
        told: dict[str, object] = {}
        for one in row.lines:
            if one.name not in entry:
                left_out = "; empty: none" if one.is_optional else ""
                question = f"{one.name}, {one.about}: its pin{left_out}"
                if pin := self._pin(question, is_needed=not one.is_optional):
                    told[one.name] = pin
        for one in row.sources:
            told[one.name] = self._asker.text(f"{one.name}, {one.about}: its name", "")
        return told

    def _pin(self, question: str, *, is_needed: bool = False) -> str:
        """Ask for a pin until the answer is the name of one; empty where none is needed."""
        while True:
            said = self._asker.text(question, "").upper()
            if _PIN.fullmatch(said) or not (said or is_needed):
                return said
            self._asker.complain("a pin is called as on the chip: PB0 or PC13")

    def _number(self, question: str, lowest: int, highest: int, usual: str = "") -> int | None:
        """Ask for a whole number, also as 0x.., until it is within its limits; None if left out."""
        while said := self._asker.text(question, usual):
            try:
                number = int(said, 0)
            except ValueError:
                number = lowest - 1
            if lowest <= number <= highest:
                return number
            self._asker.complain(f"{said} is not one of them")
        return None

    def _limit(self) -> dict[str, object]:
        while said := self._asker.text("Longest time on, in seconds; empty: no limit", ""):
            try:
                seconds = float(said)
            except ValueError:
                seconds = 0
            if 0 < seconds <= _ON_LONGEST_S:
                return {"max_on_s": seconds}
            self._asker.complain("that is no number of seconds")
        return {}

    def _add(self, row: DeviceRow, told: Mapping[str, object]) -> None:
        entry = {**told, **(self._limit() if row.is_output else {})}
        while name := self._asker.text("What is it called? Empty: leave it out", ""):
            if name in self.pins:
                self._asker.complain(f"{name} is configured already")
                continue
            try:
                checked({name: entry})
            except ValueError as err:
                self._asker.complain(str(err))
                if "a name" in str(err):
                    continue
                return
            self.pins[name] = entry
            return


def checked(pins: Mapping[str, Mapping[str, object]]) -> dict[str, PinSettings]:
    """Return the settings of these tables.

    Raises:
        ValueError: something is wrong with one of them, in words for a person.
    """
    for name in pins:
        if not _is_proper(name):
            raise ValueError("a name is small letters, digits and _, and begins with a letter")
        if len(name) > MAX_PIN_NAME_CHARS:
            raise ValueError(f"a name has at most {MAX_PIN_NAME_CHARS} characters")
    try:
        return msgspec.convert(pins, dict[str, PinSettings])
    except msgspec.ValidationError as err:
        raise ValueError(str(err)) from err


def _is_proper(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name == name.lower() and name[0] != "_"


def _option(row: DeviceRow, name: str) -> DeviceOption | None:
    return next((one for one in row.options if one.name == name), None)


def wires(pins: Mapping[str, PinSettings]) -> list[tuple[str, str, str, str]]:
    """Return pin of the microcontroller, name, kind and purpose of each wire, by name."""
    found = []
    for name in sorted(pins):
        settings = pins[name]
        row = BY_KIND[settings.kind]
        found.append((settings.pin, name, settings.kind, row.pin))
        found += [
            (getattr(settings, one.name), name, settings.kind, one.about)
            for one in row.lines
            if getattr(settings, one.name)
        ]
    return found


def draw(board: str, pins: Mapping[str, PinSettings]) -> str:
    """Return the SVG."""
    rows = wires(pins)
    height = 2 * _MARGIN_PX + (len(rows) + 2) * _ROW_PX
    width = 2 * _MARGIN_PX + _BOARD_PX + _WIRE_PX + _PART_PX
    body = "\n".join([*_board(board, height), *_lines(rows)])
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' role='img'>\n"
        f"<title>{escape(board)}: {len(rows)} wires</title>\n"
        f"<rect width='{width}' height='{height}' fill='#ffffff'/>\n{body}\n</svg>\n"
    )


def _board(board: str, height: int) -> Iterator[str]:
    inner = height - 2 * _MARGIN_PX
    yield (
        f"<rect x='{_MARGIN_PX}' y='{_MARGIN_PX}' width='{_BOARD_PX}' height='{inner}' rx='8' "
        "fill='#eef2f5' stroke='#56606b'/>"
    )
    yield _text(_MARGIN_PX + 12, _MARGIN_PX + _ROW_PX, board, "#16181d")


def _lines(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    names = list(dict.fromkeys(name for _, name, _, _ in rows))
    edge = _MARGIN_PX + _BOARD_PX
    far = edge + _WIRE_PX
    for at, (pin, name, kind, purpose) in enumerate(rows):
        y = _MARGIN_PX + (at + 2) * _ROW_PX + _ROW_PX // 2
        colour = _COLOURS[names.index(name) % len(_COLOURS)]
        yield _text(edge - 50, y + 5, pin, "#16181d")
        yield f"<line x1='{edge}' y1='{y}' x2='{far}' y2='{y}' stroke='{colour}' stroke-width='3'/>"
        yield _text(far + 10, y + 5, f"{name} ({kind}): {purpose}", colour)


def _text(x: int, y: int, text: str, colour: str) -> str:
    return (
        f"<text x='{x}' y='{y}' {_STYLE} font-size='{_TEXT_PX}' fill='{colour}'>"
        f"{escape(text)}</text>"
    )
